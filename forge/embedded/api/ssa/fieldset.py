"""Sets of field paths: what a manager owns (FieldsV1).

A step of a path is kept in its wire form, which also is its order:

    f:spec            a field or map key          .spec
    k:{"name":"a"}    an item of a list map       [name="a"]
    v:"x"             an item of a set            [="x"]
    i:0               an item by its place        [0]

On the wire a set is nested objects; "." inside an object says that the path itself is a member.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

Path = tuple[str, ...]
RANK: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


class BadFields(ValueError):
    """The document is no FieldsV1."""


class FieldSet:
    """A set of paths as a tree. members: steps that are in the set here; children: what is below."""

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.children: dict[str, FieldSet] = {}

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        mine, theirs = _grown(self), _grown(other)
        return self.members == other.members and mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(shown, self))})"

    def __iter__(self) -> Iterator[Path]:
        """Every path, members before what is below, each in the server's order."""
        for step in sorted(self.members, key=_place):
            yield (step,)
        for step in sorted(self.children, key=_place):
            for rest in self.children[step]:
                yield (step, *rest)

    def add(self, path: Path) -> None:
        """Puts *path* in; the empty path is nothing."""
        at = self
        for step in path[:-1]:
            at = at.children.setdefault(step, FieldSet())
        if path:
            at.members.add(path[-1])

    def has(self, step: str) -> bool:
        """Whether the path of this one step is a member."""
        return step in self.members

    def below(self, step: str) -> FieldSet:
        """What is below *step*, empty where there is nothing."""
        return self.children.get(step) or EMPTY

    def union(self, other: FieldSet) -> FieldSet:
        """Paths of either."""
        made = FieldSet()
        made.members = self.members | other.members
        for step in self.children.keys() | other.children.keys():
            made.children[step] = self.below(step).union(other.below(step))
        return made

    def intersection(self, other: FieldSet) -> FieldSet:
        """Paths of both."""
        made = FieldSet()
        made.members = self.members & other.members
        for step in self.children.keys() & other.children.keys():
            if found := self.children[step].intersection(other.children[step]):
                made.children[step] = found
        return made

    def difference(self, other: FieldSet) -> FieldSet:
        """Paths of this one that are not in *other*; a member there does not take what is below it."""
        made = FieldSet()
        made.members = self.members - other.members
        for step, child in self.children.items():
            if left := child.difference(other.below(step)):
                made.children[step] = left
        return made

    def without(self, other: FieldSet) -> FieldSet:
        """Paths of this one that are not in *other* nor below one of its members."""
        made = FieldSet()
        made.members = self.members - other.members
        for step, child in self.children.items():
            if step not in other.members and (left := child.without(other.below(step))):
                made.children[step] = left
        return made

    def as_json(self) -> dict[str, Any]:
        """The FieldsV1 document, keys in order."""
        return dict(sorted(self._entries(), key=lambda entry: _place(entry[0])))

    def _entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for step in self.members:
            below = self.children.get(step)
            yield step, {".": {}, **below.as_json()} if below else {}
        for step, child in self.children.items():
            if step not in self.members and child:
                yield step, child.as_json()


EMPTY: Final = FieldSet()


def of(*paths: Path) -> FieldSet:
    """The set of these paths."""
    made = FieldSet()
    for path in paths:
        made.add(path)
    return made


def parse(document: Any) -> FieldSet:
    """The set a FieldsV1 document holds. Raises BadFields where it is none."""
    if not isinstance(document, Mapping):
        raise BadFields("no object")
    made = FieldSet()
    for raw, inside in document.items():
        if raw == ".":
            continue
        step, below = _canonical(raw), parse(inside)
        if not inside or "." in inside:
            made.members.add(step)
        if below:
            made.children[step] = below
    return made


@lru_cache(maxsize=4096)
def _canonical(step: str) -> str:
    kind, colon, rest = step.partition(":")
    if not colon or kind not in RANK:
        raise BadFields(f"no path element: {step}")
    if kind == "f":
        return step
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        raise BadFields(f"no path element: {step}") from None
    if (kind == "k") != isinstance(value, dict) or (kind == "i") != (type(value) is int and kind == "i"):
        raise BadFields(f"no path element: {step}")
    return f"{kind}:{compact(value)}"


def compact(value: Any) -> str:
    """Canonical JSON of a key or value: sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def shown(path: Path) -> str:
    """The path as messages print it: `.spec.ports[name="http"].port`."""
    return "".join(map(_shown, path))


def _shown(step: str) -> str:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        return "[" + ",".join(f"{k}={_literal(v)}" for k, v in sorted(json.loads(rest).items())) + "]"
    return f"[={_literal(json.loads(rest))}]" if kind == "v" else f"[{rest}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _place(step: str) -> tuple[int, str]:
    return RANK.get(step[:1], 0), step


def _grown(fields: FieldSet) -> dict[str, FieldSet]:
    return {step: child for step, child in fields.children.items() if child}
