"""What comes of an apply: the object, the conflicts that stand against it, or a rejection."""

from __future__ import annotations

from dataclasses import dataclass

from forge.embedded.api.schema.model import JSON, Cause
from forge.embedded.api.ssa.fieldset import Path, shown
from forge.embedded.api.ssa.managed import Ident


class ApplyRejected(Exception):
    """The applied object is not of its type; the server answers code (500) and this message."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True, slots=True)
class Applied:
    """The object as it shall be stored, managedFields included; equal to the live one if nothing changed."""

    object: JSON


@dataclass(frozen=True, slots=True)
class Conflict:
    """One field that another manager owns with another value."""

    path: Path
    manager: Ident

    def as_cause(self) -> Cause:
        """The entry of details.causes."""
        return Cause(shown(self.path), "FieldManagerConflict", f"conflict with {self.manager}")


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What stands against an apply, in the order of managers and fields."""

    conflicts: tuple[Conflict, ...]

    @property
    def message(self) -> str:
        """The Status message."""
        count = len(self.conflicts)
        if count == 1:
            only = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {only.manager}: {shown(only.path)}"
        lines: dict[str, list[str]] = {}
        for conflict in self.conflicts:
            lines.setdefault(str(conflict.manager), []).append(f"- {shown(conflict.path)}")
        told = "\n".join(f"conflicts with {m}:\n" + "\n".join(lines[m]) for m in sorted(lines))
        return f"Apply failed with {count} conflicts: {told}"

    @property
    def causes(self) -> list[Cause]:
        """details.causes."""
        return [conflict.as_cause() for conflict in self.conflicts]
