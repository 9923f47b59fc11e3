"""Where a value stands, as messages spell it: `spec.ports[0].name`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NIL: Final = "<nil>"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands. name: as messages spell it, "" at the root. base: put before the field.

    A default is judged by itself: its name is "", its base the path of the default.
    """

    name: str = ""
    base: str = ""

    def key(self, name: str) -> Place:
        return Place(f"{self.name}.{name}" if self.name else name, self.base)

    def index(self, at: int) -> Place:
        return Place(f"{self.name}[{at}]", self.base)

    @property
    def field(self) -> str:
        return ".".join(p for p in (self.base, self.name) if p) or NIL
