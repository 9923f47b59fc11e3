"""Judges a custom resource against its schema.

Four rounds, as the real server: OpenAPI validations, embedded resources, list sets and maps, then the
rules (CEL), which are not run where an earlier error makes them meaningless. Values an update leaves
alone are not judged again ("ratcheting").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from forge.embedded.api import names
from forge.embedded.api.schema.causes import duplicate, invalid, required
from forge.embedded.api.schema.model import ABSENT, JSON, Cause, Schema
from forge.embedded.api.schema.openapi_checks import check
from forge.embedded.api.schema.place import NIL, Place
from forge.embedded.api.schema.rules import run_rules
from forge.embedded.api.ssa.fieldset import compact

BLOCKING: Final = {
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
}
UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation"
)


def validate(obj: JSON, schema: Schema, old: JSON | None = None) -> list[Cause]:
    """Every violation of *obj*, pruned and defaulted, in order. old: what it replaces, None on creation.

    Metadata is not judged here: its rules are the same for every kind.
    """
    place = Place()
    causes = check(obj, schema.raw, place, ABSENT if old is None else old).causes
    causes += _walk(obj, schema, place, _embedded, root=True)
    causes += _walk(obj, schema, place, _unique, root=True)
    if any(c.reason in BLOCKING for c in causes):
        return [*causes, invalid(NIL, None, UNCHECKED)] if _has_rules(schema) else causes
    return causes + list(run_rules(obj, schema, old))


def validate_default(value: Any, schema: Schema, path: str) -> list[Cause]:
    """Every violation of a default, which stands at *path* in the definition."""
    place = Place("", path)
    causes = check(value, schema.raw, place).causes
    causes += _walk(value, schema, place, _embedded)
    return causes + list(_walk(value, schema, place, _unique))


def _has_rules(schema: Schema) -> bool:
    if schema.rules:
        return True
    below = [schema.items, schema.additional, *(s for n, s in schema.properties.items() if n != "metadata")]
    return any(_has_rules(s) for s in below if s is not None)


def _walk(value: Any, schema: Schema, place: Place, judge: Any, *, root: bool = False) -> Iterator[Cause]:
    """*judge* at every level of *value*, outermost first."""
    if not root:
        yield from judge(value, schema, place)
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from _walk(item, schema.items, place.index(index), judge)
    if isinstance(value, dict):
        for key in sorted(value):
            below = schema.child(key)
            if below is not None and not (key == "metadata" and (root or schema.embedded)):
                yield from _walk(value[key], below, place.key(key), judge)


def _embedded(value: Any, schema: Schema, place: Place) -> Iterator[Cause]:
    if not schema.embedded or not isinstance(value, dict):
        return
    for key in ("apiVersion", "kind"):
        if not value.get(key):
            yield required(place.key(key).field, "must not be empty")
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        yield from _labels(metadata.get("labels"), place.key("metadata").key("labels").field)


def _labels(labels: Any, field: str) -> Iterator[Cause]:
    for key, value in sorted((labels or {}).items() if isinstance(labels, dict) else ()):
        for wrong in names.qualified(key):
            yield invalid(field, key, wrong)
        for wrong in names.label_value(value) if isinstance(value, str) else ():
            yield invalid(field, value, wrong)


def _unique(value: Any, schema: Schema, place: Place) -> Iterator[Cause]:
    if not isinstance(value, list) or schema.list_atomic:
        return
    seen = set()
    for index, item in enumerate(value):
        told = item
        if schema.list_type == "map":
            if not isinstance(item, dict):
                continue
            told = {key: item[key] for key in schema.list_keys if key in item}
        name = compact(told)
        if name in seen:
            yield duplicate(place.index(index).field, told)
        seen.add(name)
