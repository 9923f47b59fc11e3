"""What differs between two states of an object: fields added, removed, modified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from forge.embedded.api.schema.model import ABSENT, Schema
from forge.embedded.api.ssa.fieldset import FieldSet, Path
from forge.embedded.api.ssa.shapes import Shape, as_list, as_map, child, item_type, same, shape, steps_of


@dataclass(slots=True)
class Difference:
    """Fields by what became of them."""

    added: FieldSet = field(default_factory=FieldSet)
    removed: FieldSet = field(default_factory=FieldSet)
    modified: FieldSet = field(default_factory=FieldSet)

    def __bool__(self) -> bool:
        return bool(self.added) or bool(self.removed) or bool(self.modified)

    def without(self, ignored: FieldSet) -> Difference:
        """The difference without these fields and what is below them."""
        return Difference(
            self.added.without(ignored), self.removed.without(ignored), self.modified.without(ignored)
        )


def compare(old: Any, new: Any, schema: Schema) -> Difference:
    """What changed from *old* to *new*."""
    found = Difference()
    _compare(old, new, schema, (), found)
    return found


def _compare(old: Any, new: Any, schema: Schema, path: Path, found: Difference) -> None:
    if old is new:
        return
    if new is ABSENT:
        leaf = _walk(shape(schema, old), old, new, schema, path, found)
    elif old is ABSENT or shape(schema, old) is shape(schema, new):
        leaf = _walk(shape(schema, new), old, new, schema, path, found)
    else:
        _walk(shape(schema, old), old, new, schema, path, found)
        leaf = _walk(shape(schema, new), old, new, schema, path, found)
    if not leaf and old is ABSENT:
        found.added.add(path)
    if not leaf and new is ABSENT:
        found.removed.add(path)


def _walk(kind: Shape, old: Any, new: Any, schema: Schema, path: Path, found: Difference) -> bool:
    """Whether the pair was taken as one leaf."""
    if kind is Shape.MAP and (as_map(old) or as_map(new)):
        _maps(as_map(old), as_map(new), schema, path, found)
        return False
    if kind is Shape.LIST and (as_list(old) or as_list(new)):
        _lists(as_list(old), as_list(new), schema, path, found)
        return False
    if old is ABSENT:
        found.added.add(path)
    elif new is ABSENT:
        found.removed.add(path)
    elif not same(old, new):
        found.modified.add(path)
    return True


def _maps(old: dict[str, Any], new: dict[str, Any], schema: Schema, path: Path, found: Difference) -> None:
    for key, value in old.items():
        _compare(value, new.get(key, ABSENT), child(schema, key), (*path, f"f:{key}"), found)
    for key, value in new.items():
        if key not in old:
            _compare(ABSENT, value, child(schema, key), (*path, f"f:{key}"), found)


def _lists(old: list[Any], new: list[Any], schema: Schema, path: Path, found: Difference) -> None:
    before, after = _by_step(old, schema), _by_step(new, schema)
    for step in before | after:
        left, right = before.get(step, []), after.get(step, [])
        if len(left) <= 1 and len(right) <= 1:
            one, other = (left or [ABSENT])[0], (right or [ABSENT])[0]
            _compare(one, other, item_type(schema), (*path, step), found)
        elif not left:
            found.added.add((*path, step))
        elif not right:
            found.removed.add((*path, step))
        elif not same(left, right):
            # A step that stands for several items is one leaf.
            found.modified.add((*path, step))


def _by_step(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for step, item in steps_of(items, schema):
        found.setdefault(step, []).append(item)
    return found
