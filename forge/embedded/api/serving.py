"""Resource requests: which verb does what, for a resource that exists and a user who may.

Each function reads what its verb needs from the request, calls the operation, and gives the result a
form. Authorisation and the lookup of the resource are done before (`service`).
"""

from __future__ import annotations

from dataclasses import dataclass

from forge.embedded.api import (
    bodies,
    creating,
    deletes,
    exchange,
    forms,
    gostruct,
    negotiate,
    opening,
    options,
    patching,
    rbac,
    reads,
    scaling,
    status,
    strategy,
    views,
    writes,
)
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.exchange import Ask, Reply, Stream
from forge.embedded.api.openapi import data
from forge.embedded.api.resources import Resource
from forge.embedded.api.reviews import Judges
from forge.embedded.api.values import Json, Key, Record


@dataclass(frozen=True, slots=True)
class Served:
    """What a verb's function works with."""

    cluster: Cluster
    judges: Judges
    ask: Ask
    resource: Resource

    @property
    def key(self) -> Key:
        target = self.ask.target
        return Key(self.resource.storage, target.namespace if self.resource.namespaced else "", target.name)


def serve(served: Served, verb: str) -> Reply | Stream:
    """Answers the request. Raises ApiError."""
    target = served.ask.target
    if target.subresource and served.resource.verbs != ("create",):
        return _subresource(served, verb)
    if verb in ("list", "watch"):
        return _list(served, watching=verb == "watch")
    if verb == "get":
        return _get(served)
    if verb == "create":
        return creating.create(served)
    if verb == "update":
        return _update(served)
    if verb == "patch":
        return patching.patch(served)
    if verb == "delete":
        return _delete(served)
    return _delete_collection(served)


def _subresource(served: Served, verb: str) -> Reply | Stream:
    name = served.ask.target.subresource
    if name == "scale":
        return scaling.serve(served, verb)
    if name == "token":
        return creating.token(served)
    if name == "log":
        return _log(served)
    if verb == "get":
        return _get(served)
    if verb == "patch":
        return patching.patch(served, name)
    return _update(served, name)


def _log(served: Served) -> Reply | Stream:
    record = reads.get(served.cluster, served.resource, served.key)
    if served.cluster.logs is None:
        raise status.bad_request("logs are served by a node, and this cluster has none")
    return served.cluster.logs(served.ask, served.resource, record, served.cluster.clock().timestamp())


def _list(served: Served, *, watching: bool) -> Reply | Stream:
    ask, resource = served.ask, served.resource
    form = forms.wanted(ask, resource)
    asked = options.list_options(ask.query)
    if watching:
        return opening.open_watch(served, form, asked)
    namespace = ask.target.namespace if resource.namespaced else ""
    page = reads.list_page(served.cluster, resource, namespace, asked)
    return forms.page(served.cluster, ask, resource, page, form)


def _get(served: Served) -> Reply:
    form = forms.wanted(served.ask, served.resource)
    options.version(served.ask.query.get("resourceVersion"))
    record = reads.get(served.cluster, served.resource, served.key)
    return forms.one(served.cluster, served.ask, served.resource, record, form)


def _update(served: Served, subresource: str = "") -> Reply:
    ask, resource = served.ask, served.resource
    form = forms.wanted(ask, resource)
    if not served.key.name:
        raise status.bad_request("name must be provided")
    asked = options.write_options(ask.query, ask.agent, "UpdateOptions")
    wanted = bodies.expected(resource)
    body = bodies.read(ask.body, negotiate.body_media(ask.headers.get("Content-Type", "")), wanted)
    check_place(body.document, served.key, resource)
    shape(body, resource)
    warnings = bodies.settle_odd(body.odd, asked.validation, wanted)
    warnings += strategy.of(resource).warn(body.document)
    check_uid(served, body.document)
    rules = strategy.of(resource)
    if rules.create_on_update and served.cluster.store.get(served.key) is None:
        record = writes.create(served.cluster, resource, served.key.namespace, body.document, asked)
        return forms.one(served.cluster, ask, resource, record, form, 201)
    record = writes.update(
        served.cluster, resource, served.key, lambda _: body.document, asked, subresource=subresource
    )
    if not asked.dry_run:
        rbac.check_escalation(
            served.cluster, served.judges.authorizer, ask.user, resource.storage, record.object
        )
    reply = forms.one(served.cluster, ask, resource, record, form)
    reply.warnings += warnings
    return reply


def check_place(document: Json, key: Key, resource: Resource) -> None:
    """Raises 400 unless the body names the object that the path names."""
    meta = document.setdefault("metadata", {})
    if not meta.get("name"):
        said = f"the name of the object ({key.name} based on URL) was undeterminable: name must be provided"
        raise status.bad_request(said)
    if meta["name"] != key.name:
        said = f"the name of the object ({meta['name']}) does not match the name on the URL ({key.name})"
        raise status.bad_request(said)
    check_namespace(document, key.namespace, resource)


def check_namespace(document: Json, namespace: str, resource: Resource) -> None:
    """Fills in the path's namespace; raises 400 for another one."""
    meta = document["metadata"]
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif meta.get("namespace") not in (None, "", namespace):
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta["namespace"] = namespace


def shape(body: bodies.Body, resource: Resource) -> None:
    """Gives a document the shape of its kind: unknown members dropped, defaults filled in."""
    if resource.custom is not None:
        from forge.embedded.api import documents

        body.document, unknown = documents.shaped(body.document, resource.custom.schema)
        body.odd += [f"unknown field {status.quote(path)}" for path in unknown]
    strategy.of(resource).default(body.document)


def check_uid(served: Served, document: Json) -> None:
    """A uid in a PUT is a precondition."""
    stored = served.cluster.store.get(served.key)
    given = document["metadata"].get("uid")
    if stored is None or not given:
        return
    uid = stored.object["metadata"]["uid"]
    if given != uid:
        resource, key = served.resource, served.key
        group = f"{resource.group}/" if resource.custom else ""
        place = f"/registry/{group}{resource.plural}/{key.namespace + '/' if key.namespace else ''}{key.name}"
        why = (
            f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {given}, UID in object meta: {uid}"
        )
        raise status.conflict(resource.group, resource.plural, key.name, why)


def delete_body(served: Served) -> Json | None:
    """The DeleteOptions in the body, None when it has none. Raises 415 and 500."""
    ask = served.ask
    if not ask.body:
        return None
    media = negotiate.body_media(ask.headers.get("Content-Type", ""))
    wanted = bodies.Expected("meta.k8s.io", "v1", "DeleteOptions")
    try:
        value, _ = bodies.raw_value(ask.body, media, wanted)
    except status.ApiError as error:
        said = error.message.partition("): ")[2].rpartition(" (")[0]
        raise status.internal(said or error.message) from None
    try:
        document, _ = gostruct.read(f"{data.META}.DeleteOptions", value)
    except gostruct.GoTypeError as error:
        raise status.internal(str(error)) from None
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if kind not in (None, "", "DeleteOptions"):
        quoted = f"{status.quote(str(kind))} is registered for version {status.quote(str(api_version))}"
        scheme = "pkg/apis/meta/internalversion/scheme/register.go:27"
        raise status.internal(f'no kind {quoted} in scheme "{scheme}"')
    return document


def _delete(served: Served) -> Reply:
    ask, resource = served.ask, served.resource
    form = forms.wanted(ask, resource)
    asked = deletes.delete_options(delete_body(served), ask.query)
    done = deletes.delete(served.cluster, resource, served.key, asked)
    if not done.gone or strategy.of(resource).object_answer:
        return forms.one(served.cluster, ask, resource, done.record, form)
    uid = done.record.object["metadata"].get("uid", "")
    details = {"name": served.key.name, "group": resource.group, "kind": resource.plural, "uid": uid}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {k: v for k, v in details.items() if v},
    }
    return Reply(exchange.written(body, form.media), media=form.media)


def _delete_collection(served: Served) -> Reply:
    ask, resource = served.ask, served.resource
    form = forms.wanted(ask, resource)
    chosen = options.list_options(ask.query)
    asked = deletes.delete_options(delete_body(served), ask.query)
    namespace = ask.target.namespace if resource.namespaced else ""
    page = deletes.delete_collection(served.cluster, resource, namespace, asked, chosen)
    return forms.page(served.cluster, ask, resource, page, form)


def stored_view(served: Served) -> Record | None:
    """The object as the resource serves it; None when there is none."""
    found = served.cluster.store.get(served.key)
    return views.view(found, served.resource) if found else None


def kind_name(resource: Resource) -> str:
    """The packaged type of a built-in kind."""
    return data.full_name(resource.group, resource.version, resource.kind)
