"""Drops what a schema does not know, and names it.

The names are what strict field validation refuses and a Warning header says. A field whose null the
schema does not allow is dropped with the defaults (default.py), not here.
"""

from __future__ import annotations

from typing import Any

from forge.embedded.api.schema.model import JSON, Schema


def prune(obj: JSON, schema: Schema) -> tuple[JSON, list[str]]:
    """(*obj* without unknown fields, their paths in document order, sorted within a level)."""
    return prune_value(obj, schema)


def prune_value(value: Any, schema: Schema) -> tuple[Any, list[str]]:
    """The same for any value: a default, say."""
    unknown: list[str] = []
    pruned = _value(value, schema, "", unknown)
    return pruned, unknown


def _value(value: Any, schema: Schema, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _map(value, schema, path, unknown)
    if isinstance(value, list) and schema.items is not None:
        items = schema.items
        return [_value(item, items, f"{path}[{i}]", unknown) for i, item in enumerate(value)]
    return value


def _map(value: JSON, schema: Schema, path: str, unknown: list[str]) -> JSON:
    kept = {}
    for key in sorted(value) if not schema.preserve else value:
        below = schema.child(key)
        where = f"{path}.{key}" if path else key
        if below is not None:
            kept[key] = _value(value[key], below, where, unknown)
        elif schema.preserve or schema.type not in ("object", ""):
            kept[key] = value[key]
        else:
            unknown.append(where)
    return {key: kept[key] for key in value if key in kept}
