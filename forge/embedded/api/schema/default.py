"""Fills in the defaults a schema gives, and drops nulls it does not allow.

A null is dropped as a document is decoded, so not in what server-side apply has put together.

A default fills a missing field and replaces a null of a field that is not nullable; inside a default
further defaults apply. Defaults never make a parent: `spec` with defaults below is not created.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from forge.embedded.api.schema.model import ABSENT, JSON, Schema

LARGEST: Final = 2**63  # what is beyond stays a float, as Go's decoder leaves it


def default(obj: JSON, schema: Schema, *, drop_nulls: bool = True) -> JSON:
    """*obj* with its defaults; numbers that are whole become integers, as the store keeps them."""
    filled: JSON = _value(obj, schema, drop_nulls)
    return filled


def _value(value: Any, schema: Schema, drop_nulls: bool) -> Any:
    if isinstance(value, dict):
        return _map(value, schema, drop_nulls)
    if isinstance(value, list):
        items = schema.items
        return [_value(_nulled(v, items), items, drop_nulls) for v in value] if items is not None else value
    if isinstance(value, float) and schema.type == "integer" and value.is_integer() and abs(value) < LARGEST:
        return int(value)
    return value


def _nulled(value: Any, schema: Schema) -> Any:
    """A null inside a list or map: its default, where it has one and may not be null."""
    if value is None and not schema.nullable and schema.default is not ABSENT:
        return copy.deepcopy(schema.default)
    return value


def _map(value: JSON, schema: Schema, drop_nulls: bool) -> JSON:
    filled: JSON = {}
    for key, sent in value.items():
        below = schema.child(key)
        if below is None:
            filled[key] = sent
            continue
        given = _nulled(sent, below)
        if (
            given is None
            and drop_nulls
            and not below.nullable
            and key in schema.properties
            and _drops_null(below)
        ):
            continue
        filled[key] = _value(given, below, drop_nulls)
    for key, below in schema.properties.items():
        if key not in filled and below.default is not ABSENT:
            filled[key] = _value(copy.deepcopy(below.default), below, drop_nulls)
    return filled


def _drops_null(schema: Schema) -> bool:
    """Nulls stay where anything goes: in unknown fields that are preserved as they are."""
    return not (schema.preserve and not schema.type)
