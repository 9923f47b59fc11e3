"""The template language: text with {{ paths }}, and how a path finds its value.

    {{ cluster.properties.region }}    words joined by dots, from one of ROOTS
    {{ "{{" }}                         text in double quotes stands for itself: the way to write braces

There are no filters, conditions or loops. forge/stack/template.py renders with it; the rules of
this package resolve as much as is known before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

ROOTS: Mapping[str, str] = {
    "cluster": "cluster.name or cluster.properties.KEY",
    "stack": "stack.name",
    "item": "item or item.FIELD, inside for-each",
    "network": "network.dnsZone or network.pool",
    "captures": "captures.CLUSTER.KEY",
    "certificates": "certificates.LEAF.sha256 or certificates.LEAF.previousSha256",
    "services": "services.NAME.address",
    "secrets": "secrets.NAME.sha256",
}
"""What a path may begin with -> its full form."""

_WORD = re.compile(r"[A-Za-z0-9_-]+")


class Unknown(Enum):
    """LATER: a value that exists once things run. ANY: a mapping of which nothing is known yet."""

    LATER = "later"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Expression:
    """words: the path; () for quoted text, which is in literal. start, end: offsets of the braces."""

    words: tuple[str, ...]
    literal: str
    start: int
    end: int

    def __str__(self) -> str:
        return ".".join(self.words) if self.words else f'"{self.literal}"'


class TemplateBroken(ValueError):
    """offset: where in the text. The reason quotes nothing of the text but the path."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


class Absent(LookupError):
    """The path leads nowhere. depth: how many of its words were found. known: what is there."""

    def __init__(self, reason: str, depth: int, known: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.depth = depth
        self.known = known


def has_template(text: str) -> bool:
    """Whether the text holds what would be read as a template."""
    return "{{" in text


def parse(text: str) -> Iterator[str | Expression]:
    """The text in pieces. Raises TemplateBroken when it comes to one that cannot be read."""
    done = 0
    while (start := text.find("{{", done)) >= 0:
        if start > done:
            yield text[done:start]
        found = _expression(text, start)
        yield found
        done = found.end
    if done < len(text):
        yield text[done:]


def _expression(text: str, start: int) -> Expression:
    quoted = re.compile(r'\{\{\s*"([^"]*)"\s*\}\}').match(text, start)
    if quoted:
        return Expression((), quoted[1], start, quoted.end())
    end = text.find("}}", start)
    if end < 0:
        raise TemplateBroken("a template is opened with {{ and never closed", start)
    inner = text[start + 2 : end].strip()
    words = tuple(inner.split("."))
    if not inner:
        raise TemplateBroken("a template is empty", start)
    if not all(_WORD.fullmatch(word) for word in words):
        raise TemplateBroken('a template wants words joined by dots, or text in double quotes ("{{")', start)
    return Expression(words, "", start, end + 2)


@lru_cache(maxsize=256)  # the same template is looked at once for each cluster
def expressions(text: str) -> tuple[Expression, ...]:
    """Only the paths of a text. Raises TemplateBroken."""
    return tuple(piece for piece in parse(text) if isinstance(piece, Expression) and piece.words)


def look_up(words: tuple[str, ...], scope: Mapping[str, object]) -> object:
    """The value a path leads to in *scope*: LATER where it is not known yet. Raises Absent."""
    value: object = scope
    for depth, word in enumerate(words):
        if value is Unknown.ANY:
            return Unknown.LATER
        if isinstance(value, Mapping) and word in value:
            value = value[word]
        elif isinstance(value, (list, tuple)) and word.isdigit() and int(word) < len(value):
            value = value[int(word)]
        else:
            known = tuple(str(key) for key in value) if isinstance(value, Mapping) else ()
            raise Absent(f'"{".".join(words[: depth + 1])}" does not exist', depth, known)
    return Unknown.LATER if value is Unknown.ANY else value


def as_text(value: object) -> str:
    """A value as it stands in a rendered text. Raises ValueError for what is none: lists, null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return str(value)
    what = "empty" if value is None else "a mapping" if isinstance(value, Mapping) else "a list"
    raise ValueError(f"is {what}, and only text, numbers and true or false can stand in a text")


def holds(when: str, rendered: Callable[[str], str | None]) -> bool | None:
    """Whether a `when` holds: `a == b`, `a != b`, or one text that is `true`. None: not known yet.

    Sides are compared as texts without the spaces round them, and each is rendered by itself, so
    that a value with `==` in it changes nothing. rendered: gives None for what is not known yet.
    """
    for sign in ("==", "!="):
        left, found, right = when.partition(sign)
        if found:
            one, other = rendered(left), rendered(right)
            if one is None or other is None:
                return None
            return (one.strip() == other.strip()) is (sign == "==")
    whole = rendered(when)
    return None if whole is None else whole.strip() == "true"
