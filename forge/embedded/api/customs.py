"""Custom resources: what a CRD makes of its versions, and how their objects are judged.

A definition becomes one Resource for each served version. Its schema shapes what is written (unknown
members dropped, defaults filled in) and judges the result; the CRD itself is `crds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from forge.embedded.api import documents, jsonpath
from forge.embedded.api.printers import Cell, Column, age, name_column, parse_time
from forge.embedded.api.resources import Resource, Subresource
from forge.embedded.api.schema.model import Cause, Schema
from forge.embedded.api.strategy import Strategy
from forge.embedded.api.values import Json, dig, encode


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """JSON paths below an object. selector: empty when there is none."""

    spec: str
    status: str
    selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CustomVersion:
    """One served version of a CRD. warning: sent with every answer when the version is deprecated."""

    definition: str
    schema: Schema
    openapi: Json
    storage_version: str
    columns: tuple[Column, ...]
    strategy: Strategy
    scale: ScalePaths | None = None
    selectable: tuple[str, ...] = ()
    warning: str = ""
    terminating: bool = False
    spec: Json = field(default_factory=dict)


def resources_of(definition: Json) -> tuple[Resource, ...]:
    """The resources that an established CRD serves, in the order of its versions."""
    spec, names = definition["spec"], dig(definition, "status", "acceptedNames") or {}
    storage = next(v["name"] for v in spec["versions"] if v.get("storage"))
    return tuple(_resource(definition, spec, names, v, storage) for v in spec["versions"] if v.get("served"))


def _resource(definition: Json, spec: Json, names: Json, version: Json, storage: str) -> Resource:
    sub = version.get("subresources") or {}
    kind = names["kind"]
    subresources = []
    if "status" in sub:
        subresources.append(Subresource("status", kind))
    if sub.get("scale"):
        subresources.append(Subresource("scale", "Scale", group="autoscaling", version="v1"))
    return Resource(
        spec["group"],
        version["name"],
        names["plural"],
        kind,
        spec["scope"] == "Namespaced",
        names.get("singular", ""),
        names.get("listKind", ""),
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"),
        tuple(subresources),
        custom=_custom(definition, spec, version, storage),
    )


def _custom(definition: Json, spec: Json, version: Json, storage: str) -> CustomVersion:
    openapi = dig(version, "schema", "openAPIV3Schema") or {"type": "object"}
    schema = documents.read_schema(openapi)
    scale = dig(version, "subresources", "scale")
    paths = None
    if scale:
        paths = ScalePaths(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or ""
        )
    return CustomVersion(
        definition["metadata"]["name"],
        schema,
        openapi,
        storage,
        _columns(version.get("additionalPrinterColumns") or []),
        _strategy(schema, has_status="status" in (version.get("subresources") or {})),
        paths,
        tuple(f["jsonPath"] for f in version.get("selectableFields") or ()),
        _warning(spec, version),
        bool(dig(definition, "metadata", "deletionTimestamp")),
        version,
    )


def _warning(spec: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    said = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    return version.get("deprecationWarning") or said


def _columns(declared: Sequence[Json]) -> tuple[Column, ...]:
    if not declared:
        plain = Column(
            "Age", _cell(".metadata.creationTimestamp", "date"), "date", said="ObjectMeta#creationTimestamp"
        )
        return (name_column(), plain)
    made = [
        Column(
            c["name"],
            _cell(c["jsonPath"], c["type"]),
            c["type"],
            c.get("format") or "",
            c.get("description")
            or f"Custom resource definition column (in JSONPath format): {c['jsonPath']}",
            c.get("priority") or 0,
        )
        for c in declared
    ]
    return (name_column(), *made)


def _cell(path: str, kind: str) -> Cell:
    def cell(document: Json, now: datetime) -> Any:
        found = jsonpath.find(document, path)
        if not found:
            return None
        if kind == "string":
            return _text(found[0]) if len(found) == 1 else " ".join(_text(v) for v in found)
        value = found[0]
        if kind == "date":
            return age(value, now) if parse_time(value) else "<invalid>" if value else None
        if kind == "integer":
            return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        if kind == "number":
            return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        return value if isinstance(value, bool) else None

    return cell


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()


def _strategy(schema: Schema, *, has_status: bool) -> Strategy:
    def validate(document: Json) -> list[Cause]:
        return documents.faults(document, schema, None)

    def validate_update(new: Json, old: Json) -> list[Cause]:
        return documents.faults(new, schema, old)

    return Strategy(
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_update,
        generation=True,
        has_status=has_status,
        unconditional=False,
    )
