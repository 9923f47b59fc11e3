"""The one door to the pure document functions: schemas, patches, ownership, selectors, OpenAPI.

Everything here takes documents and gives documents; what can go wrong is turned into the Status that
the real server answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from forge.embedded.api import gostruct, selectors, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.openapi import builtin, data, gnostic, protobuf, swagger
from forge.embedded.api.openapi import document as openapi_document
from forge.embedded.api.options import WriteOptions
from forge.embedded.api.patch import json as json_patch
from forge.embedded.api.patch import merge, rejected, strategic
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema import default as defaults
from forge.embedded.api.schema import prune as pruning
from forge.embedded.api.schema import structural, validate
from forge.embedded.api.schema.model import Cause, Schema
from forge.embedded.api.ssa import apply as ssa
from forge.embedded.api.ssa import reset
from forge.embedded.api.values import Json, encode

Matches = Callable[[Json], bool]
DEFINITIONS = "v1.32"


def schema_of(resource: Resource) -> Schema:
    """The schema of any served resource."""
    if resource.custom is not None:
        return resource.custom.schema
    found = builtin.builtin(resource.group, resource.version, resource.kind)
    if found is None:
        raise LookupError(f"no packaged definition of {resource.kind}")
    return found


def read_schema(openapi: Json) -> Schema:
    """The schema of a stored definition, which was judged when it was written."""
    return structural.read_root(openapi)


def schema_causes(openapi: Json, path: str) -> list[Cause]:
    """Why *openapi* cannot be the schema of a custom resource."""
    try:
        structural.parse(openapi, path=path)
    except structural.SchemaInvalid as error:
        return error.causes
    return []


def shaped(document: Json, schema: Schema) -> tuple[Json, list[str]]:
    """(*document* without what *schema* does not know and with its defaults, the paths dropped)."""
    meta = document.get("metadata")
    pruned, unknown = pruning.prune(document, schema)
    filled = defaults.default(pruned, schema)
    if meta is not None:
        filled["metadata"] = meta
    return filled, unknown


def faults(document: Json, schema: Schema, old: Json | None) -> list[Cause]:
    """What *schema* finds wrong with *document*, or with the change from *old*."""
    return validate.validate(document, schema, old)


def patched(document: Json, patch: Any, media: str, resource: Resource | None) -> Json:
    """*document* after *patch*; resource: None for documents without list keys of their own."""
    try:
        if media == "application/json-patch+json":
            return json_patch.apply_json(document, patch)
        if media == "application/merge-patch+json" or resource is None:
            return merge.apply_merge(document, patch)
        return strategic.apply_strategic(document, patch, schema_of(resource))
    except rejected.PatchRejected as error:
        raise status.ApiError(error.code, error.reason, error.message, error.details) from None


def odd_operations(patch: Any, media: str) -> list[str]:
    """Complaints about members of JSON patch operations that nobody knows."""
    return json_patch.unknown_fields(patch) if media == "application/json-patch+json" else []


def _write(cluster: Cluster, resource: Resource, asked: WriteOptions, subresource: str) -> ssa.Write:
    from forge.embedded.api import strategy

    has_status = strategy.of(resource).has_status
    return ssa.Write(
        asked.manager,
        schema_of(resource),
        resource.api_version,
        cluster.now(),
        subresource,
        reset.reset_fields(subresource, has_status=has_status),
    )


def track(
    cluster: Cluster,
    resource: Resource,
    old: Json | None,
    new: Json,
    asked: WriteOptions,
    subresource: str = "",
) -> None:
    """Writes into *new* who owns which of its fields after this write."""
    write = _write(cluster, resource, asked, subresource)
    old = _served_entries(cluster, resource, old)
    new["metadata"] = (_served_entries(cluster, resource, new) or new)["metadata"]
    entries = ssa.track_update(old, new, write, blank=blank(resource))
    if entries:
        new["metadata"]["managedFields"] = entries
    else:
        new["metadata"].pop("managedFields", None)


def _served_entries(cluster: Cluster, resource: Resource, old: Json | None) -> Json | None:
    """*old* without owners in versions that its definition has dropped: nobody can read their fields."""
    entries = old["metadata"].get("managedFields") if old and resource.custom else None
    if old is None or not entries:
        return old
    group = f"{resource.group}/"
    kept = [
        e
        for e in entries
        if not str(e.get("apiVersion", "")).startswith(group)
        or cluster.registry.find(resource.group, e["apiVersion"].removeprefix(group), resource.plural)
    ]
    return old if len(kept) == len(entries) else old | {"metadata": old["metadata"] | {"managedFields": kept}}


def blank(resource: Resource) -> Json:
    """What a new object is compared with: built-in kinds have their empty structs from the start."""
    if resource.custom is not None:
        return {}
    return gostruct.empty(data.full_name(resource.group, resource.version, resource.kind))


def applied(
    cluster: Cluster,
    resource: Resource,
    live: Json | None,
    wanted: Json,
    asked: WriteOptions,
    subresource: str,
) -> Json:
    """The object after a server-side apply of *wanted*. Raises 409 and what else an apply refuses."""
    write = _write(cluster, resource, asked, subresource)
    try:
        outcome = ssa.apply(live, wanted, write, force=asked.force)
    except ssa.ApplyRejected as error:
        raise status.ApiError(error.code, "", error.message) from None
    if isinstance(outcome, ssa.Conflicts):
        found = [cause.as_json() for cause in outcome.causes]
        raise status.ApiError(409, "Conflict", outcome.message, {"causes": found})
    return outcome.object


@lru_cache(maxsize=256)
def label_matcher(text: str) -> Matches:
    """Raises 400."""
    try:
        chosen = selectors.parse_labels(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    return lambda document: chosen.matches(document["metadata"].get("labels") or {})


def field_matcher(resource: Resource, text: str) -> Matches:
    """Raises 400 for what cannot be parsed and for fields the resource cannot select by."""
    from forge.embedded.api import fields

    try:
        chosen = selectors.parse_fields(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    return fields.matcher(resource, chosen)


def from_protobuf(body: bytes, group: str, version: str, kind: str) -> Any:
    """Raises ValueError in the server's words."""
    return protobuf.decode(body, group=group, version=version, kind=kind)


def go_json(document: Json, *, custom: bool) -> str:
    """*document* as Go prints it inside a message: maps by key, structs in their own order."""
    outer = dict(sorted(document.items()))
    return json.dumps(outer, separators=(",", ":"), ensure_ascii=False, sort_keys=custom)


def openapi(group: str, version: str, resources: list[Resource]) -> Json:
    """The OpenAPI v3 document of one group and version."""
    return openapi_document.document(group, version, [_served(r) for r in resources])


def openapi_v2(groups: Iterable[tuple[str, str, list[Resource]]]) -> Json:
    """name -> definition (version 2) of all that is in *groups*: (group, version, resources)."""
    return swagger.definitions((g, v, [_served(r) for r in resources]) for g, v, resources in groups)


def swagger_json(definitions: Json) -> bytes:
    """The OpenAPI v2 document with *definitions*."""
    return encode({**swagger.head(), "definitions": dict(sorted(definitions.items()))})


def swagger_protobuf(definitions: Json) -> bytes:
    """The same in the form that kubectl reads."""
    return gnostic.document(swagger.head()) + gnostic.definitions(definitions)


def _served(resource: Resource) -> openapi_document.Served:
    subresources = tuple(
        openapi_document.Sub(
            s.name, s.kind, s.group or resource.group, s.version or resource.version, s.verbs
        )
        for s in resource.subresources
    )
    custom = resource.custom
    return openapi_document.Served(
        resource.plural,
        resource.kind,
        resource.lists,
        resource.namespaced,
        resource.verbs,
        subresources,
        custom.openapi if custom else None,
        custom.selectable if custom else (),
    )
