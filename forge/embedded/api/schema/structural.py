"""Reads the OpenAPI schema of a custom resource's version into a Schema, or says why it cannot.

Refusals come in two rounds, as the real server makes them: first what each level may not hold
(wellformed.py), then, if that was right, whether the whole is structural, its defaults fit and its
rules compile (completeness.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forge.embedded.api.openapi import builtin
from forge.embedded.api.schema import completeness, wellformed
from forge.embedded.api.schema.model import ABSENT, JSON, Cause, Rule, Schema

ROOT = "spec.validation.openAPIV3Schema"


class SchemaInvalid(Exception):
    """The schema cannot be served. causes: every violation, in the real server's order."""

    def __init__(self, causes: list[Cause]) -> None:
        super().__init__("; ".join(f"{c.field}: {c.message}" for c in causes))
        self.causes = causes


def parse(openapi: Mapping[str, Any], *, path: str = ROOT) -> Schema:
    """The Schema of a custom resource, its apiVersion, kind and metadata included.

    path: how the messages name the schema's place in the definition.
    Raises SchemaInvalid, with every cause, where the definition must be refused.
    """
    causes = wellformed.check(openapi, path)
    if causes:
        raise SchemaInvalid(causes)
    schema = read_root(openapi)
    causes = completeness.check(openapi, schema, path)
    if causes:
        raise SchemaInvalid(causes)
    return schema


def read_root(openapi: Mapping[str, Any]) -> Schema:
    """The Schema of a definition known to be good (one that is stored already)."""
    return _embed(read(openapi))


def read(openapi: Mapping[str, Any]) -> Schema:
    """One level and everything below it; unknown keys are ignored."""
    additional = openapi.get("additionalProperties")
    items = openapi.get("items")
    embedded = openapi.get("x-kubernetes-embedded-resource") is True
    schema = Schema(
        type=openapi.get("type") or "",
        properties={name: read(sub) for name, sub in (openapi.get("properties") or {}).items()},
        additional=_additional(additional),
        items=read(items) if isinstance(items, Mapping) else None,
        default=openapi.get("default", ABSENT),
        nullable=openapi.get("nullable") is True,
        preserve=openapi.get("x-kubernetes-preserve-unknown-fields") is True,
        int_or_string=openapi.get("x-kubernetes-int-or-string") is True,
        embedded=embedded,
        list_type=openapi.get("x-kubernetes-list-type") or "",
        list_keys=tuple(openapi.get("x-kubernetes-list-map-keys") or ()),
        map_type=openapi.get("x-kubernetes-map-type") or "",
        rules=tuple(_rule(r) for r in openapi.get("x-kubernetes-validations") or ()),
        raw=openapi,
    )
    return _embed(schema) if embedded else schema


def _additional(given: Any) -> Schema | None:
    if isinstance(given, Mapping):
        return read(given)
    return Schema(preserve=True) if given is True else None


def _rule(given: JSON) -> Rule:
    return Rule(
        rule=given.get("rule", ""),
        message=given.get("message", ""),
        message_expression=given.get("messageExpression", ""),
        reason=given.get("reason") or "FieldValueInvalid",
        field_path=given.get("fieldPath", ""),
        optional_old=given.get("optionalOldSelf") is True,
    )


def _embed(schema: Schema) -> Schema:
    """*schema* with what every object has; metadata keeps its own shape whatever was written."""
    from dataclasses import replace

    text = Schema(type="string")
    known = {"apiVersion": text, "kind": text, "metadata": builtin.object_meta()}
    return replace(schema, properties={**schema.properties, **known})
