"""What is wrong with a configuration: every problem with its place, and all of them at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]
_SHOWN = 256  # characters of a key


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """line, column: from 1; 0 where the file as a whole is meant. path: `listeners[0].address`."""

    file: str
    line: int
    column: int
    path: str
    why: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.path}: {self.why}" if self.path else f"{where}: {self.why}"


class ConfigRejected(Exception):
    """The configuration cannot be used as it stands; nothing was opened or changed."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))


def shown(path: Path) -> str:
    """`("listeners", 0, "address")` as `listeners[0].address`, on one line whatever a key holds."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part if len(part) <= _SHOWN and part.isprintable() else ascii(part[:_SHOWN])
        text += f".{key}" if text else key
    return text


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; None when none is close."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)`, or nothing when no known word is close."""
    close = nearest(word, known)
    return f" (did you mean {close!r}?)" if close is not None else ""
