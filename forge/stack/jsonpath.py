"""Paths into an object, as kubectl writes them: `{.status.loadBalancer.ingress[0].ip}`. Pure.

A text with paths in braces, or one path without them. Inside:

    .name  ['name']  .a\\.b       a field                .*  [*]        all of them
    [0]  [-1]  [1:3]  [0,2]      items of a list         ..name         at any depth
    [?(@.type=="Ready")]         items for which it holds: == != < <= > >=, or that it is there

What is not there gives nothing, as in `kubectl get -o jsonpath`; only a path that cannot be read is an
error. `range` and `end` are refused by name: a step wants one value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

MAX_LENGTH = 4096
"""Characters of one text. Longer ones are no paths."""
MAX_FILTERS = 16
"""They may stand inside each other, and each is read by a call inside a call."""

_T = TypeVar("_T")

Pick = Callable[[object], Iterable[object]]
"""From one value to those a part of the path leads to."""


class JsonPathBroken(ValueError):
    """A path that cannot be read. offset: where in the text."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A text that was read. pieces: plain text, or a path as its parts in order."""

    pieces: tuple[str | tuple[Pick, ...], ...]

    def values(self, document: object) -> tuple[object, ...]:
        """Everything its paths lead to, in order; null counts as not there."""
        return tuple(v for piece in self.pieces if not isinstance(piece, str) for v in _walk(piece, document))

    def text(self, document: object) -> str:
        """What kubectl would print: several values with a space between, mappings and lists as JSON."""
        return "".join(
            piece if isinstance(piece, str) else " ".join(map(_text, _walk(piece, document)))
            for piece in self.pieces
        )


@lru_cache(maxsize=256)  # a wait asks with the same path again and again
def parse(text: str) -> JsonPath:
    """Raises JsonPathBroken."""
    if len(text) > MAX_LENGTH:
        raise JsonPathBroken(f"a path has at most {MAX_LENGTH} characters", MAX_LENGTH)
    if "{" not in text:
        return JsonPath((_Reader(text, 0, "").path(),))
    pieces: list[str | tuple[Pick, ...]] = []
    done = 0
    while (start := text.find("{", done)) >= 0:
        if start > done:
            pieces.append(text[done:start])
        reader = _Reader(text, start + 1, "}")
        pieces.append(reader.literal() if reader.at("\"'") else reader.path())
        done = reader.position + 1
    if done < len(text):
        pieces.append(text[done:])
    return JsonPath(tuple(pieces))


def _walk(parts: tuple[Pick, ...], document: object) -> list[object]:
    found = [document]
    for part in parts:
        found = [inner for value in found for inner in part(value)]
    return [value for value in found if value is not None]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_NAME = re.compile(r"(?:[^.\[\]{}()\s'\"\\=!<>|]|\\.)+")
_INDEX = re.compile(r"-?[0-9]{1,9}")
_SLICE = re.compile(r"(-?[0-9]{1,9})?:(-?[0-9]{1,9})?(?::(-?[0-9]{1,9})?)?")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_OPERATOR = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class _Reader:
    """Reads one path. end: the character it ends with, empty for the end of the text."""

    def __init__(self, text: str, position: int, end: str) -> None:
        self.text = text
        self.position = position
        self.end = end
        self.depth = 0

    def at(self, characters: str) -> bool:
        return self.position < len(self.text) and self.text[self.position] in characters

    def literal(self) -> str:
        found = self._match(_QUOTED, "a quote is opened and never closed")
        self._close()
        return _unquoted(found)

    def path(self) -> tuple[Pick, ...]:
        self._skip()
        if re.compile(r"(range|end)\b").match(self.text, self.position):
            raise self._broken("range and end are not known here: name the one value that is wanted")
        if self.at("$@"):
            self.position += 1
        elif self._is_name():
            # kubectl forgives a missing first dot
            parts = [_field(self._name()), *self._parts()]
            self._close()
            return tuple(parts)
        parts = list(self._parts())
        self._close()
        return tuple(parts)

    def _parts(self) -> Iterator[Pick]:
        while True:
            if self.at("["):
                self.position += 1
                yield self._bracket()
            elif self.at("."):
                self.position += 1
                if self.at("."):
                    self.position += 1
                    yield _anywhere(self._name())
                elif self.at("*"):
                    self.position += 1
                    yield _all
                elif self._is_name():
                    yield _field(self._name())
                elif not (self.at("[") or self._is_over()):
                    raise self._broken("a dot wants the name of a field after it")
            else:
                return

    def _bracket(self) -> Pick:
        self._skip()
        if self.at("*"):
            self.position += 1
            part: Pick = _all
        elif self.at("?"):
            self.position += 1
            part = self._filter()
        elif self.at("'\""):
            part = _several([_field(name) for name in self._list(self._quoted_name)])
        elif found := _SLICE.match(self.text, self.position):
            self.position = found.end()
            part = _slice(*(int(n) if n else None for n in found.groups()))
        else:
            part = _several([_item(index) for index in self._list(self._index)])
        self._skip()
        self._expect("]")
        return part

    def _list(self, read: Callable[[], _T]) -> list[_T]:
        found = [read()]
        self._skip()
        while self.at(","):
            self.position += 1
            self._skip()
            found.append(read())
            self._skip()
        return found

    def _filter(self) -> Pick:
        self.depth += 1
        if self.depth > MAX_FILTERS:
            raise self._broken(f"a path has at most {MAX_FILTERS} filters")
        self._skip()
        self._expect("(")
        left = self._operand()
        found = _OPERATOR.match(self.text, self.position)
        if found is None:
            self._skip()
            self._expect(")")
            return _filtered(lambda item: bool(left(item)))
        self.position = found.end()
        right = self._operand()
        self._skip()
        self._expect(")")
        compare = _COMPARE[found[1]]
        return _filtered(lambda item: any(compare(a, b) for a in left(item) for b in right(item)))

    def _operand(self) -> Callable[[object], list[object]]:
        self._skip()
        if self.at("@"):
            self.position += 1
            parts = tuple(self._parts())
            return lambda item: _walk(parts, item)
        value = self._value()
        return lambda _: [value]

    def _value(self) -> object:
        if self.at("'\""):
            return self._quoted_name()
        for word, value in (("true", True), ("false", False)):
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        found = self._match(_NUMBER, 'a filter compares with a number, true, false or a "text"')
        return float(found[0]) if "." in found[0] else int(found[0])

    def _quoted_name(self) -> str:
        return _unquoted(self._match(_QUOTED, "a quote is opened and never closed"))

    def _index(self) -> int:
        return int(self._match(_INDEX, 'brackets want a number, *, a "name" or a filter')[0])

    def _is_name(self) -> bool:
        return _NAME.match(self.text, self.position) is not None

    def _name(self) -> str:
        return _unescaped(self._match(_NAME, "the name of a field is missing")[0])

    def _match(self, pattern: re.Pattern[str], reason: str) -> re.Match[str]:
        found = pattern.match(self.text, self.position)
        if found is None:
            raise self._broken(reason)
        self.position = found.end()
        return found

    def _skip(self) -> None:
        while self.at(" \t"):
            self.position += 1

    def _is_over(self) -> bool:
        return self.at(self.end) if self.end else self.position >= len(self.text)

    def _close(self) -> None:
        self._skip()
        if not self._is_over():
            missing = self.end and self.position >= len(self.text)
            raise self._broken("{ is opened and never closed" if missing else "this is no part of a path")

    def _expect(self, character: str) -> None:
        if not self.at(character):
            raise self._broken(f"{character} is missing")
        self.position += 1

    def _broken(self, reason: str) -> JsonPathBroken:
        return JsonPathBroken(reason, self.position)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _unquoted(found: re.Match[str]) -> str:
    return _unescaped(found[1] if found[1] is not None else found[2])


def _field(name: str) -> Pick:
    def pick(value: object) -> Iterable[object]:
        return (value[name],) if isinstance(value, Mapping) and name in value else ()

    return pick


def _all(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else ()


def _item(index: int) -> Pick:
    def pick(value: object) -> Iterable[object]:
        inside = isinstance(value, list) and -len(value) <= index < len(value)
        return (value[index],) if isinstance(value, list) and inside else ()

    return pick


def _slice(start: int | None, stop: int | None, step: int | None = None) -> Pick:
    def pick(value: object) -> Iterable[object]:
        return value[start : stop : step or None] if isinstance(value, list) else ()

    return pick


def _several(picks: list[Pick]) -> Pick:
    return lambda value: [inner for pick in picks for inner in pick(value)]


def _filtered(holds: Callable[[object], bool]) -> Pick:
    return lambda value: [item for item in _all(value) if holds(item)]


def _anywhere(name: str) -> Pick:
    here = _field(name)

    def pick(value: object) -> Iterable[object]:
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            yield from here(inner)
            waiting += reversed(tuple(_all(inner)))

    return pick


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def holds(one: object, other: object) -> bool:
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return bool(numbers and compare(one, other))  # type: ignore[arg-type]  # both are numbers there

    return holds


def _same(one: object, other: object) -> bool:
    return (type(one) is type(other) and one == other) or _ordered(lambda a, b: a == b)(one, other)


_COMPARE: Mapping[str, Callable[[object, object], bool]] = {
    "==": _same,
    "!=": lambda one, other: not _same(one, other),
    "<": _ordered(lambda a, b: a < b),
    "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b),
    ">=": _ordered(lambda a, b: a >= b),
}
