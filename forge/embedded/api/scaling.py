"""Requests to the scale subresource: read, replaced, patched and applied, all as a Scale.

What is written goes into the object itself; what a Scale is made of is in `scale`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forge.embedded.api import (
    bodies,
    documents,
    forms,
    gostruct,
    negotiate,
    options,
    patching,
    reads,
    scale,
    status,
    writes,
)
from forge.embedded.api.exchange import Reply
from forge.embedded.api.options import WriteOptions
from forge.embedded.api.values import Json, Record

if TYPE_CHECKING:
    from forge.embedded.api.serving import Served

_SCALE = bodies.Expected("autoscaling", "v1", "Scale")
_SCALE_APPLY = (
    "failed to create manager for existing fields: failed to convert live object "
    "(/; autoscaling/v1, Kind=Scale) to proper version: "
    "request to convert CR to an invalid group/version: autoscaling/v1"
)


def serve(served: Served, verb: str) -> Reply:
    """GET, PUT and PATCH of the scale subresource."""
    form = forms.wanted(served.ask, served.resource)
    if verb == "patch":
        record = _patch(served)
    elif verb == "update":
        record = _put(served)
    else:
        record = reads.get(served.cluster, served.resource, served.key)
    found = scale.scale_of(record.object, served.resource)
    return forms.document(served.cluster, served.ask, found, scale.COLUMNS, form)


def _put(served: Served) -> Record:
    from forge.embedded.api import serving

    ask = served.ask
    asked = options.write_options(ask.query, ask.agent, "UpdateOptions")
    wanted = bodies.Expected("autoscaling", "v1", "Scale")
    media = negotiate.body_media(ask.headers.get("Content-Type", ""))
    try:
        body = bodies.read(ask.body, media, wanted)
    except status.ApiError as error:
        if served.resource.custom is None or "no kind" not in error.message:
            raise
        scheme = "pkg/apiserver/customresource_handler.go:725"
        said = f'no kind is registered for the type v1.Scale in scheme "{scheme}"'
        raise status.bad_request(said) from None
    scale.check(body.document, served.key.name, served.resource)
    serving.check_uid(served, body.document)
    return writes.update(
        served.cluster,
        served.resource,
        served.key,
        lambda document: scale.apply_to(document, body.document, served.resource),
        asked,
        subresource="scale",
    )


def _patch(served: Served) -> Record:
    """A patch of the scale subresource: applied to the Scale, written to the object."""
    media = patching.media_of(served)
    asked = patching.patch_options(served, media)
    value = patching.decode(served.ask.body, media)
    record = reads.get(served.cluster, served.resource, served.key)
    if media == patching.APPLY_PATCH:
        if served.resource.custom is not None:
            raise status.internal(_SCALE_APPLY)
        return _apply(served, value, asked, record)
    before = scale.scale_of(record.object, served.resource)
    after = bodies.typed(_body(documents.patched(before, value, media, None)), _SCALE, []).document
    scale.check(after, served.key.name, served.resource)

    def change(document: Json) -> Json:
        return scale.apply_to(document, after, served.resource)

    return writes.update(served.cluster, served.resource, served.key, change, asked, subresource="scale")


def _body(value: Any) -> Json:
    """A decoded body as a Scale. Raises 400."""
    if not isinstance(value, dict):
        raise status.bad_request(f"invalid object type: /, Kind={gostruct.json_type(value)}")
    return {"kind": _SCALE.kind, "apiVersion": _SCALE.api_version} | value


def _apply(served: Served, value: Any, asked: WriteOptions, _record: Record) -> Record:
    """An applied Scale owns `spec.replicas` of the object."""
    resource = served.resource
    body = bodies.typed(_body(value), _SCALE, [])
    scale.check(body.document, served.key.name, resource)
    replicas = body.document["spec"].get("replicas", 0)
    applied: Json = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": served.key.name, "namespace": served.key.namespace},
        "spec": {"replicas": replicas},
    }

    def change(document: Json) -> Json:
        return documents.applied(served.cluster, resource, document, applied, asked, "scale")

    return writes.update(
        served.cluster, resource, served.key, change, asked, subresource="scale", tracked=True
    )
