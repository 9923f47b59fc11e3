"""What a .dockerignore hides of a build's context. Pure.

Docker's rules, as far as files have them: one pattern a line, `*` and `?` within a name, `**` over
folders, `!` takes back, the last pattern that fits decides, and a folder that is hidden hides all in it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ignored:
    """patterns: in order, each with whether it hides."""

    patterns: tuple[tuple[re.Pattern[str], bool], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Ignored:
        lines = (line.strip() for line in text.splitlines())
        return cls(tuple(_pattern(line) for line in lines if line and not line.startswith("#")))

    def hides(self, path: str) -> bool:
        """Whether the build does not see this file. path: relative to the context."""
        hidden = False
        for pattern, hides in self.patterns:
            if any(pattern.fullmatch(part) for part in _with_parents(path)):
                hidden = hides
        return hidden

    def hides_all_of(self, folder: str) -> bool:
        """Whether nothing in the folder can be seen, so that nobody need look into it."""
        return self.hides(folder) and all(hides for _, hides in self.patterns)


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = posixpath.dirname(path)


def _pattern(line: str) -> tuple[re.Pattern[str], bool]:
    hides = not line.startswith("!")
    clean = posixpath.normpath(line.removeprefix("!").strip().lstrip("/"))
    return re.compile(_expression(clean)), hides


def _expression(pattern: str) -> str:
    found, place = "", 0
    while place < len(pattern):
        rest = pattern[place:]
        if rest.startswith("**/"):
            found, place = found + "(?:.*/)?", place + 3
        elif rest.startswith("**"):
            found, place = found + ".*", place + 2
        elif rest[0] == "*":
            found, place = found + "[^/]*", place + 1
        elif rest[0] == "?":
            found, place = found + "[^/]", place + 1
        else:
            found, place = found + re.escape(rest[0]), place + 1
    return found
