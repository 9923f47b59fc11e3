"""Whether a well-formed schema is structural, its defaults fit and its rules compile.

The second round of refusals. Structural: every level says its type, and junctors only restrict what is
declared outside of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from forge.embedded.api.schema.causes import forbidden, in_go, invalid, required
from forge.embedded.api.schema.model import ABSENT, Cause, Schema
from forge.embedded.api.schema.prune import prune_value
from forge.embedded.api.schema.rules import rule_complaints
from forge.embedded.api.schema.validate import validate_default

Level = Mapping[str, Any]
JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
OUTSIDE_ONLY: Final = (
    "description", "type", "title", "default", "nullable", "additionalProperties",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
    "x-kubernetes-validations",
)  # fmt: skip


def check(root: Level, schema: Schema, path: str) -> list[Cause]:
    """Every violation, structure first."""
    causes = list(_structure(root, path, ""))
    if not causes:
        causes = list(_defaults(schema, path, root=True))
    return causes + list(_rules(schema, path, root=True))


def _structure(level: Level, path: str, missing: str) -> Iterator[Cause]:
    yield from _typed(level, path, missing)
    yield from _junctors(level, level, path)
    for name, below in (level.get("properties") or {}).items():
        yield from _structure(
            below, f"{path}.properties[{name}]", "must not be empty for specified object fields"
        )
    if isinstance(level.get("additionalProperties"), Mapping):
        below = level["additionalProperties"]
        yield from _structure(
            below, f"{path}.additionalProperties", "must not be empty for specified object fields"
        )
    if isinstance(level.get("items"), Mapping):
        yield from _structure(level["items"], f"{path}.items", "must not be empty for specified array items")


def _typed(level: Level, path: str, missing: str) -> Iterator[Cause]:
    kind = level.get("type") or ""
    anything = level.get("x-kubernetes-int-or-string") or level.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not anything:
        yield required(f"{path}.type", missing)
    if level.get("x-kubernetes-embedded-resource"):
        if kind != "object":
            detail = "must be object if x-kubernetes-embedded-resource is true"
            yield invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)
        if not level.get("properties") and not level.get("x-kubernetes-preserve-unknown-fields"):
            yield required(
                f"{path}.properties",
                "must not be empty if x-kubernetes-embedded-resource is true without"
                " x-kubernetes-preserve-unknown-fields",
            )
    if level.get("x-kubernetes-embedded-resource") or not missing:
        yield from _common(level.get("properties") or {}, path)


def _common(properties: Level, path: str) -> Iterator[Cause]:
    """What a schema may say of the fields that every object has."""
    for name, text in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        given = properties.get(name)
        if given is not None and given.get("type") not in (None, text):
            yield invalid(f"{path}.properties[{name}].type", given.get("type"), f"must be {text}")
    metadata = properties.get("metadata") or {}
    restricted = set(metadata.get("properties") or ()) - {"name", "generateName"}
    if restricted or set(metadata) - {"type", "description", "properties"}:
        yield forbidden(
            f"{path}.properties[metadata]",
            "must not specify anything other than name and generateName,"
            " but metadata is implicitly specified",
        )


def _junctors(level: Level, outside: Level, path: str) -> Iterator[Cause]:
    if level.get("x-kubernetes-int-or-string") and level is outside:
        return
    for junctor in JUNCTORS:
        for index, branch in enumerate(level.get(junctor) or ()):
            yield from _branch(branch, outside, f"{path}.{junctor}[{index}]")
    if isinstance(level.get("not"), Mapping):
        yield from _branch(level["not"], outside, f"{path}.not")


def _branch(branch: Level, outside: Level, path: str) -> Iterator[Cause]:
    for key in OUTSIDE_ONLY:
        if branch.get(key):
            yield forbidden(f"{path}.{key}", "must be empty to be structural")
    for name, below in (branch.get("properties") or {}).items():
        declared = (outside.get("properties") or {}).get(name)
        if declared is None:
            shown = path.replace("spec.validation.openAPIV3Schema.", "", 1)
            yield required(
                f"{_outer(path)}.properties[{name}]", f"because it is defined in {shown}.properties[{name}]"
            )
        else:
            yield from _branch(below, declared, f"{path}.properties[{name}]")
    if isinstance(branch.get("items"), Mapping) and isinstance(outside.get("items"), Mapping):
        yield from _branch(branch["items"], outside["items"], f"{path}.items")
    yield from _junctors({**branch, "x-kubernetes-int-or-string": False}, outside, path)


def _outer(path: str) -> str:
    """The level a junctor stands in."""
    return path.rpartition(".")[0] if path.endswith(("]", ".not")) else path


def _defaults(schema: Schema, path: str, *, root: bool = False) -> Iterator[Cause]:
    if schema.default is not ABSENT:
        where = f"{path}.default"
        pruned, unknown = prune_value(schema.default, schema)
        if schema.default is None and not schema.nullable:
            yield required(where, "must not be null")
        elif unknown:
            field, detail = where, "must not have unknown fields"
            yield Cause(field, "FieldValueInvalid", f"Invalid value: {in_go(schema.default)}: {detail}")
        else:
            yield from validate_default(pruned, schema, where)
    for where, below in _below(schema, path, root=root):
        yield from _defaults(below, where)


def _rules(schema: Schema, path: str, within: str = "", *, root: bool = False) -> Iterator[Cause]:
    yield from rule_complaints(schema, path, within)
    for where, below in _below(schema, path, root=root):
        unordered = below is schema.items and schema.list_type != "map"
        yield from _rules(below, where, within or (path if unordered else ""))


def _below(schema: Schema, path: str, *, root: bool) -> Iterator[tuple[str, Schema]]:
    if schema.items is not None:
        yield f"{path}.items", schema.items
    if schema.additional is not None:
        yield f"{path}.additionalProperties", schema.additional
    for name, below in schema.properties.items():
        if not ((root or schema.embedded) and name in ("apiVersion", "kind", "metadata")):
            yield f"{path}.properties[{name}]", below
