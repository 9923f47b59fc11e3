"""Whether an applied object fits its type, and which fields it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from forge.embedded.api.schema.causes import in_go_plain
from forge.embedded.api.schema.model import Schema
from forge.embedded.api.ssa.fieldset import FieldSet, Path, shown
from forge.embedded.api.ssa.shapes import (
    NotKeyed,
    Shape,
    as_list,
    as_map,
    child,
    item_type,
    shape,
    step_of,
    steps_of,
)

NUMERIC: Final = "expected numeric (int or float), got {}"
EXPECTED: Final = {
    "integer": (NUMERIC, (int, float)),
    "number": (NUMERIC, (int, float)),
    "string": ("expected string, got {}", (str,)),
    "boolean": ("expected boolean, got {}", (bool,)),
}


def complaints(obj: Any, schema: Schema) -> list[str]:
    """Everything that keeps *obj* from being applied, `.path: reason` each, empty where it may."""
    return [f"{shown(path)}: {reason}" if path else reason for path, reason in _check(obj, schema, ())]


def _check(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    if value is None:
        return
    if schema.int_or_string:
        if isinstance(value, (dict, list)):
            yield path, f"expected scalar, got {_wrapped(value)}"
    elif schema.type == "object":
        yield from _check_map(value, schema, path)
    elif schema.type == "array":
        yield from _check_list(value, schema, path)
    elif schema.type:
        text, types = EXPECTED[schema.type]
        fits = isinstance(value, types) and (schema.type == "boolean" or not isinstance(value, bool))
        if not fits:
            yield path, text.format(_go_type(value))


def _check_map(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, f"expected map, got {_wrapped(value)}"
        return
    for key in sorted(value):
        below = schema.child(key)
        if below is not None:
            yield from _check(value[key], below, (*path, f"f:{key}"))
        elif not schema.preserve:
            yield (*path, f"f:{key}"), "field not declared in schema"


def _check_list(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, list):
        yield path, f"expected list, got {_wrapped(value)}"
        return
    seen = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if not schema.list_atomic:
            try:
                step = step_of(item, schema)
            except NotKeyed as wrong:
                yield path, f"element {index}: {wrong}"
                return
            if step in seen:
                yield path, f"duplicate entries for key {shown((step,))}"
            seen.add(step)
        yield from _check(item, item_type(schema), (*path, step))


def _go_type(value: Any) -> str:
    """Go's %T of decoded JSON."""
    if isinstance(value, bool):
        return "bool"
    names = ((dict, "map[string]interface {}"), (list, "[]interface {}"), (str, "string"), (int, "int64"))
    return next((name for kind, name in names if isinstance(value, kind)), "float64")


def _wrapped(value: Any) -> str:
    return "&{" + in_go_plain(value) + "}"


def fields(obj: Any, schema: Schema) -> FieldSet:
    """The fields *obj* names: leaves, items of list maps and sets, keys of maps, empty objects."""
    made = FieldSet()
    _collect(obj, schema, (), made)
    return made


def _collect(value: Any, schema: Schema, path: Path, made: FieldSet) -> None:
    match shape(schema, value):
        case Shape.LEAF:
            made.add(path)
        case Shape.LIST:
            for step, item in steps_of(as_list(value), schema):
                _collect(item, item_type(schema), (*path, step), made)
                made.add((*path, step))
        case Shape.MAP:
            for key, inner in as_map(value).items():
                below = (*path, f"f:{key}")
                _collect(inner, child(schema, key), below, made)
                if inner is None or inner == {} or key not in schema.properties:
                    made.add(below)


def with_named_parents(fields: FieldSet, schema: Schema) -> FieldSet:
    """*fields* with every declared field that has fields below as a member too."""
    made = FieldSet()
    made.members = set(fields.members)
    for step, below in fields.children.items():
        kind, _, name = step.partition(":")
        if kind == "f" and name in schema.properties:
            made.members.add(step)
        made.children[step] = with_named_parents(below, _below(schema, kind, name))
    return made


def reconciled(fields: FieldSet, schema: Schema) -> FieldSet:
    """*fields* with what has become atomic since they were written owned as a whole."""
    made = FieldSet()
    made.members = set(fields.members)
    for step, below in fields.children.items():
        kind, _, name = step.partition(":")
        inner = _below(schema, kind, name)
        if inner.type in ("object", "array") and shape(inner, None) is Shape.LEAF:
            made.members.add(step)
        else:
            made.children[step] = reconciled(below, inner)
    return made


def _below(schema: Schema, kind: str, name: str) -> Schema:
    return child(schema, name) if kind == "f" else item_type(schema)
