"""Objects and lists in the form a client asked for: whole, as a Table, or metadata only."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from forge.embedded.api import negotiate, status, table
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.exchange import Ask, Reply, written
from forge.embedded.api.negotiate import JSON, Answer
from forge.embedded.api.printers import Column
from forge.embedded.api.reads import Page
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, Record, encode

BUILTIN_OFFERED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def wanted(ask: Ask, resource: Resource) -> Answer:
    """The form that *ask* accepts. Raises 406, for built-in kinds in the router's words."""
    try:
        return negotiate.answer(ask.accept)
    except status.ApiError:
        if resource.custom is not None or _mentions_offered(ask.accept):
            raise
        message = f"406: Not Acceptable\n\nAvailable representations: {BUILTIN_OFFERED}"
        raise status.ApiError(406, "NotAcceptable", message, {}) from None


def _mentions_offered(accept: str) -> bool:
    """Where the media type itself is fine and only its parameters are not, the handler answers."""
    return any(c.media in (*negotiate.OFFERED, "*/*", "application/*") for c in negotiate.clauses(accept))


def one(
    cluster: Cluster, ask: Ask, resource: Resource, record: Record, form: Answer, code: int = 200
) -> Reply:
    """One object of *resource*."""
    if not form.kind and form.media == JSON:
        return Reply(record.body, code)
    return document(cluster, ask, record.object, table.columns_of(resource), form, code)


def document(cluster: Cluster, ask: Ask, found: Json, shown: Any, form: Answer, code: int = 200) -> Reply:
    """One document with the given table columns."""
    if form.kind == "Table":
        include = ask.query.get("includeObject", "")
        table.check_include(include)
        meta = {"resourceVersion": found["metadata"].get("resourceVersion", "")}
        made = table.table(shown, [found], cluster.clock(), version=form.version, include=include, meta=meta)
        return Reply(written(made, form.media), code, form.media)
    if form.kind == "PartialObjectMetadata":
        return Reply(written(table.partial(found, form.version), form.media), code, form.media)
    if form.kind == "PartialObjectMetadataList":
        raise status.internal("content is not a list")
    return Reply(written(found, form.media), code, form.media)


def page(cluster: Cluster, ask: Ask, resource: Resource, found: Page, form: Answer) -> Reply:
    """A list of *resource*."""
    meta = _meta(resource, found)
    if form.kind == "Table":
        return Reply(_table_page(cluster, ask, resource, found, form, _plain_meta(meta)), media=form.media)
    if form.kind == "PartialObjectMetadata":
        go_type = (
            "*unstructured.UnstructuredList"
            if resource.custom
            else f"*{_go_package(resource)}.{resource.lists}"
        )
        message = f"you requested PartialObjectMetadata, but the requested object is a list ({go_type})"
        raise status.ApiError(406, "NotAcceptable", message)
    if form.kind == "PartialObjectMetadataList":
        items = [table.partial(r.object, form.version) for r in found.records]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{form.version}"}
        return Reply(
            written(head | {"metadata": _plain_meta(meta), "items": items}, form.media), media=form.media
        )
    body = _whole(resource, found, meta)
    if form.media != JSON:
        return Reply(written(_decoded(body), form.media), media=form.media)
    return Reply(body)


def _decoded(body: bytes) -> Any:
    import msgspec

    return msgspec.json.decode(body)


def _go_package(resource: Resource) -> str:
    return (resource.group.split(".")[0] or "core").replace("rbac", "rbac")


def _meta(resource: Resource, found: Page) -> Json:
    """Metadata of a list; that of a custom kind's always has `continue`."""
    meta: Json = {"resourceVersion": str(found.version)}
    if found.proceed or resource.custom is not None:
        meta["continue"] = found.proceed
    if found.remaining is not None and found.proceed:
        meta["remainingItemCount"] = found.remaining
    return meta


def _plain_meta(meta: Json) -> Json:
    return {k: v for k, v in meta.items() if v != ""}


def _table_page(
    cluster: Cluster, ask: Ask, resource: Resource, found: Page, form: Answer, meta: Json
) -> bytes:
    include = ask.query.get("includeObject", "")
    table.check_include(include)
    shown: tuple[Column, ...] = tuple(table.columns_of(resource))
    objects = [r.object for r in found.records]
    made = table.table(shown, objects, cluster.clock(), version=form.version, include=include, meta=meta)
    return written(made, form.media)


@lru_cache(maxsize=256)
def _item_prefix(kind: str, api_version: str) -> bytes:
    return encode({"kind": kind, "apiVersion": api_version})[:-1] + b","


def _whole(resource: Resource, found: Page, meta: Json) -> bytes:
    """The list joined from the objects' own bytes: nothing is decoded."""
    head = encode({"kind": resource.lists, "apiVersion": resource.api_version, "metadata": meta})
    return head[:-1] + b',"items":[' + b",".join(_items(resource, found.records)) + b"]}"


def _items(resource: Resource, records: list[Record]) -> list[bytes]:
    """Items of a built-in list do not repeat their kind."""
    if resource.custom is not None:
        return [r.body for r in records]
    prefix = _item_prefix(resource.kind, resource.api_version)
    length = len(prefix)
    return [
        b"{" + r.body[length:]
        if r.body.startswith(prefix)
        else encode({k: v for k, v in r.object.items() if k not in ("kind", "apiVersion")})
        for r in records
    ]
