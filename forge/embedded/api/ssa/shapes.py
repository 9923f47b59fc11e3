"""How server-side apply sees a value: a map, a list, or one leaf.

Declared types say so themselves. Where anything goes, the value does: maps are walked, lists are
one leaf each (atomic), as the real server deduces them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from forge.embedded.api.schema.model import ABSENT, Schema
from forge.embedded.api.ssa.fieldset import compact

DEDUCED: Final = Schema(preserve=True)


class Shape(Enum):
    """What a value is owned as."""

    MAP = "map"
    LIST = "list"
    LEAF = "leaf"


class NotKeyed(ValueError):
    """An item of a list map or set that has no place in it; the text is the server's."""


def shape(schema: Schema, value: Any) -> Shape:
    """The shape of *value* under *schema*; atomic lists and maps are leaves."""
    if schema.int_or_string:
        return Shape.LEAF
    if schema.type == "object":
        return Shape.LEAF if schema.map_type == "atomic" else Shape.MAP
    if schema.type == "array":
        return Shape.LEAF if schema.list_atomic else Shape.LIST
    if not schema.type and isinstance(value, dict):
        return Shape.MAP
    return Shape.LEAF


def child(schema: Schema, key: str) -> Schema:
    """The type of a map's value, deduced where it is not declared."""
    found = schema.child(key)
    return DEDUCED if found is None else found


def item_type(schema: Schema) -> Schema:
    """The type of a list's items."""
    return schema.items or DEDUCED


def step_of(item: Any, schema: Schema) -> str:
    """The path step of an item of list *schema*. Raises NotKeyed where it has none."""
    return _keyed(item, schema) if schema.list_type == "map" else _member(item)


def steps_of(items: list[Any], schema: Schema) -> Iterator[tuple[str, Any]]:
    """(step, item) of every item that has one; the others have no place and are passed over."""
    for item in items:
        try:
            yield step_of(item, schema), item
        except NotKeyed:
            continue


def _keyed(item: Any, schema: Schema) -> str:
    if item is None:
        raise NotKeyed("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise NotKeyed("associative list with keys may not have non-map elements")
    named = {}
    for key in schema.list_keys:
        value = item.get(key, ABSENT)
        if value is ABSENT:
            value = child(item_type(schema), key).default
        if value is ABSENT:
            raise NotKeyed(
                f'associative list with keys has an element that omits key field "{key}"'
                " (and doesn't have default value)"
            )
        named[key] = value
    return f"k:{compact(named)}"


def _member(item: Any) -> str:
    if item is None:
        raise NotKeyed("associative list without keys has an element that's a null")
    if isinstance(item, dict):
        raise NotKeyed("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise NotKeyed("not supported: associative list with lists as elements")
    return f"v:{compact(item)}"


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def as_map(value: Any) -> dict[str, Any]:
    """*value* where it is a map, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """*value* where it is a list, else an empty one."""
    return value if isinstance(value, list) else []
