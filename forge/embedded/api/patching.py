"""PATCH: JSON, merge, strategic merge and apply patches, each on the object as its resource serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forge.embedded.api import (
    bodies,
    documents,
    forms,
    gojson,
    gostruct,
    goyaml,
    options,
    rbac,
    status,
    strategy,
    writes,
)
from forge.embedded.api.exchange import Reply
from forge.embedded.api.options import WriteOptions
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema.causes import in_go_plain
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json, Record, dig

if TYPE_CHECKING:
    from forge.embedded.api.serving import Served

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_CUSTOM = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def media_of(served: Served) -> str:
    """The kind of patch. Raises 415, for built-in kinds in the router's words."""
    media = served.ask.headers.get("Content-Type", "").split(";")[0].strip().lower()
    if served.resource.custom is not None:
        if media not in _CUSTOM:
            raise status.unsupported_media_type(_CUSTOM)
    elif media not in (*_CUSTOM, STRATEGIC_PATCH):
        raise status.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return media


def patch_options(served: Served, media: str) -> WriteOptions:
    """Raises 422 for a force without apply and an apply without a manager."""
    query = served.ask.query
    asked = options.write_options(query, served.ask.agent, "PatchOptions", patching=True)
    causes = []
    if media == APPLY_PATCH:
        if not asked.manager_given:
            causes.append(status.missing("fieldManager", "is required for apply patch"))
    elif "force" in query:
        causes.append(status.denied("force", "may not be specified for non-apply patch"))
    if causes:
        raise status.invalid("meta.k8s.io", "PatchOptions", "", causes)
    return asked


def patch(served: Served, subresource: str = "") -> Reply:
    ask, resource = served.ask, served.resource
    if not served.key.name:
        raise status.bad_request("name must be provided")
    form = forms.wanted(ask, resource)
    media = media_of(served)
    asked = patch_options(served, media)
    warnings: list[str] = []
    if media == APPLY_PATCH:
        record, code = _apply(served, asked, subresource, warnings)
    else:
        value = decode(ask.body, media)
        change = _Change(served, media, value, asked, warnings)
        record, code = (
            writes.update(served.cluster, resource, served.key, change, asked, subresource=subresource),
            200,
        )
    rbac.check_escalation(served.cluster, served.judges.authorizer, ask.user, resource.storage, record.object)
    reply = forms.one(served.cluster, ask, resource, record, form, code)
    warnings += strategy.of(resource).warn(record.object)
    reply.warnings += warnings
    return reply


def decode(body: bytes, media: str) -> Any:
    """The value of a patch. Raises 400."""
    text = body.decode("utf-8", "replace")
    try:
        return goyaml.parse(text) if media == APPLY_PATCH else gojson.parse(text)
    except gojson.GoError as error:
        raise status.bad_request(f"error decoding patch: {error}") from None
    except goyaml.YamlError as error:
        raise status.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None


class _Change:
    """One patch as the change that `writes.update` makes."""

    def __init__(
        self, served: Served, media: str, value: Any, asked: WriteOptions, warnings: list[str]
    ) -> None:
        self._served = served
        self._media = media
        self._value = value
        self._asked = asked
        self._warnings = warnings

    def __call__(self, document: Json) -> Json:
        served = self._served
        patched = documents.patched(document, self._value, self._media, served.resource)
        body = self._typed(patched)
        _check_identity(body.document, served)
        _shape(body, served.resource)
        self._warnings += self._settle(body.odd, patched)
        return body.document

    def _typed(self, patched: Json) -> bodies.Body:
        wanted = bodies.expected(self._served.resource)
        if not wanted.custom and not patched.get("kind") and not patched.get("apiVersion"):
            # A built-in object knows what it is, whatever a patch left of it.
            patched = {"kind": wanted.kind, "apiVersion": wanted.api_version} | patched
        causes = bodies.causes_of_kind(patched, wanted)
        if causes:
            name = str(dig(patched, "metadata", "name") or "")
            raise status.invalid(wanted.group, str(patched.get("kind", "")), name, causes)
        odd = [f"duplicate field {status.quote(p)}" for p in gojson.doubled_paths(self._value)]
        odd += documents.odd_operations(self._value, self._media)
        try:
            return bodies.typed(patched, wanted, odd)
        except status.ApiError as error:
            said = error.message.partition(f"cannot be handled as a {wanted.kind}: ")[2]
            raise self._unusable(patched, said) from None

    def _settle(self, odd: list[str], patched: Json) -> list[str]:
        if self._asked.validation == "Strict" and odd:
            raise self._unusable(patched, f"strict decoding error: {', '.join(odd)}")
        return odd if self._asked.validation == "Warn" else []

    def _unusable(self, patched: Json, said: str) -> status.ApiError:
        """The 422 that quotes the whole patched object."""
        text = documents.go_json(patched, custom=self._served.resource.custom is not None)
        message = f"Invalid value: {status.quote(text)}: {said}"
        return status.invalid("", "", "", [Cause("patch", "FieldValueInvalid", message)])


def _shape(body: bodies.Body, resource: Resource) -> None:
    from forge.embedded.api import serving

    serving.shape(body, resource)


def _check_identity(document: Json, served: Served) -> None:
    from forge.embedded.api import serving

    serving.check_place(document, served.key, served.resource)


def _apply(served: Served, asked: WriteOptions, subresource: str, _warnings: list[str]) -> tuple[Record, int]:
    """Server-side apply; answers 201 for an object that it made."""
    from forge.embedded.api import serving

    value = decode(served.ask.body, APPLY_PATCH)
    resource, key, cluster = served.resource, served.key, served.cluster
    applied = _applied(value, served)
    stored = cluster.store.get(key)
    if stored is None:
        if subresource:
            raise status.not_found(resource.group, resource.plural, key.name)
        creating_refused(served)
        _refuse_uid(applied, served)
        document = documents.applied(cluster, resource, None, applied, asked, subresource)
        body = bodies.typed(document, bodies.expected(resource), [])
        nulls = _nulls(body.document, served)
        serving.check_namespace(body.document, key.namespace, resource)
        serving.shape(body, resource)
        body.document["metadata"].pop("resourceVersion", None)
        _refuse(nulls, served)
        record = writes.create(cluster, resource, key.namespace, body.document, asked, tracked=True)
        return record, 201

    def change(document: Json) -> Json:
        given = dig(applied, "metadata", "resourceVersion")
        merged = documents.applied(cluster, resource, document, applied, asked, subresource)
        if given:
            merged["metadata"]["resourceVersion"] = given
        body = bodies.typed(merged, bodies.expected(resource), [])
        nulls = _nulls(body.document, served)
        serving.shape(body, resource)
        _refuse(nulls, served)
        return body.document

    return writes.update(cluster, resource, key, change, asked, subresource=subresource, tracked=True), 200


def _refuse_uid(applied: Json, served: Served) -> None:
    """An apply that names a uid means an object that is there."""
    uid = dig(applied, "metadata", "uid")
    if uid:
        cause = status.wrong("metadata.uid", uid, "field is immutable")
        raise status.invalid(served.resource.group, served.resource.kind, served.key.name, [cause, cause])


def _nulls(document: Json, served: Served) -> list[Cause]:
    """Nulls that an apply gave where none may be: plain writes drop them, an apply is refused."""
    custom = served.resource.custom
    if custom is None:
        return []
    found = documents.faults(document, custom.schema, None)
    return [c for c in found if c.message.startswith('Invalid value: "null"')]


def _refuse(causes: list[Cause], served: Served) -> None:
    if causes:
        raise status.invalid(served.resource.group, served.resource.kind, served.key.name, causes)


def creating_refused(served: Served) -> None:
    from forge.embedded.api import creating

    creating._refuse_terminating(served)


def _applied(value: Any, served: Served) -> Json:
    """The applied configuration, checked for being about this object. Raises 400."""
    if value is not None and not isinstance(value, dict):
        kind = gostruct.json_type(value)
        said = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        raise status.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {said}")
    resource, key = served.resource, served.key
    wanted = bodies.expected(resource)
    document: Json = dict(value or {})
    version, kind = str(document.get("apiVersion") or ""), str(document.get("kind") or "")
    if version != wanted.api_version or kind != wanted.kind:
        shown = version if "/" in version else f"/{version}"
        raise status.bad_request(f"invalid object type: {shown}, Kind={kind}")
    meta = document.get("metadata") or {}
    if not isinstance(meta, dict):
        shown = version if "/" in version else f"/{version}"
        said = f".metadata: expected map, got &{{{in_go_plain(meta)}}}"
        raise status.internal(f"failed to create typed patch object (/; {shown}, Kind={kind}): {said}")
    given = dict(meta)
    if given.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")
    given.setdefault("name", key.name)
    if given["name"] != key.name:
        said = f"the name of the object ({given['name']}) does not match the name on the URL ({key.name})"
        raise status.bad_request(said)
    if given.get("namespace") not in (None, "", key.namespace) and resource.namespaced:
        said = "the namespace of the provided object does not match the namespace sent on the request"
        raise status.bad_request(said)
    document["metadata"] = given
    return document
