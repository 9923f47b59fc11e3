"""What is wrong with a configuration file: each problem with its code, its place and a way out.

A Problem never holds a value that may be secret: its message names keys, and its excerpt is
masked when it is made, so that whoever prints it has nothing left to hide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from forge.errors import Place, UsageError


class Severity(StrEnum):
    """ERROR: the file cannot be used. WARNING: it can, and probably not as meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of the source, masked. column: of the caret, from 1. length: of what it marks."""

    text: str
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """code: `FG01xx`, explained by a page of its own. message: one line, no full stop.
    path: dotted, as in `spec.services[0].ports[1].host`. help: one action to take."""

    code: str
    severity: Severity
    message: str
    place: Place
    path: str = ""
    help: str = ""
    excerpt: Excerpt | None = None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


class ConfigErrors(UsageError):
    """A configuration file that cannot be used. problems: all of them, by place, warnings too.

    Nothing was changed: files are read before anything is done.
    """

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = by_place(problems)
        errors = [p for p in self.problems if p.is_error]
        first = errors[0]
        count = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
        super().__init__(
            first.code,
            f"{file} cannot be used: {count}",
            why=first.message,
            hint=first.help,
            changed=False,
            place=first.place,
        )


def by_place(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in the order a reader of the file meets them, each once."""
    unique = dict.fromkeys(problems)
    return tuple(sorted(unique, key=lambda p: (p.place, p.code, p.path, p.message)))
