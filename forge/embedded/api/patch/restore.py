"""Whether a strategically merged object is still of its Go type."""

from __future__ import annotations

from typing import Any, Final

from forge.embedded.api.patch.rejected import unrestorable
from forge.embedded.api.schema.model import Schema

TYPES: Final = {"map": "map[string]interface {}", "slice": "[]interface {}"}


def check_types(merged: Any, schema: Schema, patch: Any) -> None:
    """Raises PatchRejected, quoting *patch*, for the first value that its type cannot hold."""
    if wrong := _complaint(merged, schema):
        raise unrestorable(patch, wrong)


def _complaint(value: Any, schema: Schema) -> str:
    if value is None or schema.int_or_string:
        return ""
    if schema.type == "array":
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        items = schema.items or Schema()
        return next((wrong for item in value if (wrong := _complaint(item, items))), "")
    if schema.type == "object" and not schema.preserve:
        return _map(value, schema)
    return _scalar(value, schema)


def _map(value: Any, schema: Schema) -> str:
    if not isinstance(value, dict):
        if schema.additional is not None:
            return f"cannot restore map from {_kind(value)}"
        return f"cannot restore struct from: {_kind(value)}"
    known = ((value[key], below) for key in value if (below := schema.child(key)) is not None)
    return next((wrong for item, below in known if (wrong := _complaint(item, below))), "")


def _scalar(value: Any, schema: Schema) -> str:
    fits = {
        "string": lambda v: isinstance(v, str),
        "boolean": lambda v: isinstance(v, bool),
        "integer": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
        "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    }.get(schema.type)
    if fits is None or fits(value):
        return ""
    return f"cannot convert {TYPES.get(_kind(value), _kind(value))} to {schema.go or schema.type}"


def _kind(value: Any) -> str:
    """Go's reflect.Kind of decoded JSON."""
    if isinstance(value, bool):
        return "bool"
    kinds = ((dict, "map"), (list, "slice"), (str, "string"), (int, "int64"), (float, "float64"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "invalid")
