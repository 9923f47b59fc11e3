"""Tables and metadata-only forms of objects: the `as=` transforms of content negotiation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any

from forge.embedded.api import columns, gostruct, podcolumns, status
from forge.embedded.api.openapi import data
from forge.embedded.api.printers import GENERIC, Column
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, Record, encode

INCLUDES = ("", "Metadata", "Object", "None")
_TABLES = columns.BUILTIN | {"pods": podcolumns.COLUMNS}


def check_include(include: str) -> None:
    """Raises 400 for an includeObject that is none."""
    if include not in INCLUDES:
        shown = f"Invalid value: {status.quote(include)}"
        said = f"includeObject: {shown}: must be 'Metadata', 'Object', 'None', or empty"
        raise status.bad_request(f"Unable to convert to Table as requested: {said}")


def columns_of(resource: Resource) -> Sequence[Column]:
    if resource.custom is not None:
        return resource.custom.columns
    return _TABLES.get(resource.storage, GENERIC)


def table(
    shown: Sequence[Column],
    objects: Sequence[Json],
    now: datetime,
    *,
    version: str = "v1",
    include: str = "",
    meta: Json | None = None,
    headed: bool = True,
) -> Json:
    """A Table of *objects*. headed: with column definitions (a watch sends them once)."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": meta or {},
        "columnDefinitions": [c.definition() for c in shown] if headed else None,
        "rows": [_row(shown, o, now, version, include) for o in objects],
    }


def _row(shown: Sequence[Column], document: Json, now: datetime, version: str, include: str) -> Json:
    cells = [c.cell(document, now) for c in shown]
    if include == "None":
        return {"cells": cells, "object": None}
    return {"cells": cells, "object": document if include == "Object" else partial(document, version)}


def partial(document: Json, version: str) -> Json:
    """PartialObjectMetadata of *document*."""
    meta, _ = gostruct.read(f"{data.META}.ObjectMeta", document["metadata"])
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": meta}


class PlainShape:
    """Watch events with the object as it is."""

    def __init__(self, key: Hashable) -> None:
        self.key = key

    def frame(self, type_: str, record: Record) -> bytes:
        return b'{"type":"' + type_.encode() + b'","object":' + record.body + b"}\n"


class PartialShape:
    """Watch events with metadata only."""

    def __init__(self, key: Hashable, version: str) -> None:
        self.key: Hashable = (key, "partial", version)
        self._version = version

    def frame(self, type_: str, record: Record) -> bytes:
        return encode({"type": type_, "object": partial(record.object, self._version)}) + b"\n"


class TableShape:
    """Watch events as Tables of one row; the first one of a watch carries the columns."""

    def __init__(self, resource: Resource, clock: Any, version: str, include: str) -> None:
        self._columns = columns_of(resource)
        self._clock = clock
        self._version = version
        self._include = include
        self._headed = True
        self._shared: Hashable = ("table", version, include)

    @property
    def key(self) -> Hashable:
        """The frame with the columns is this watch's own; all later ones are everybody's."""
        return object() if self._headed else self._shared

    def frame(self, type_: str, record: Record) -> bytes:
        headed, self._headed = self._headed, False
        made = table(
            self._columns,
            [record.object],
            self._clock(),
            version=self._version,
            include=self._include,
            meta={"resourceVersion": record.object["metadata"].get("resourceVersion", "")},
            headed=headed,
        )
        return encode({"type": type_, "object": made}) + b"\n"
