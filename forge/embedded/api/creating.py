"""POST: new objects, reviews, and tokens of ServiceAccounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forge.embedded.api import (
    bodies,
    documents,
    forms,
    negotiate,
    options,
    rbac,
    reviews,
    status,
    strategy,
    writes,
)
from forge.embedded.api.exchange import Reply, reply, written
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json

if TYPE_CHECKING:
    from forge.embedded.api.serving import Served


_TOKEN_REQUEST = Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")


def create(served: Served) -> Reply:
    from forge.embedded.api import serving

    ask, resource = served.ask, served.resource
    form = forms.wanted(ask, resource)
    asked = options.write_options(ask.query, ask.agent, "CreateOptions")
    wanted = bodies.expected(resource)
    body = bodies.read(ask.body, negotiate.body_media(ask.headers.get("Content-Type", "")), wanted)
    if resource.verbs == ("create",):
        return _review(served, body.document)
    _refuse_terminating(served)
    body.document.setdefault("metadata", {})
    serving.check_namespace(body.document, served.key.namespace, resource)
    serving.shape(body, resource)
    warnings = bodies.settle_odd(body.odd, asked.validation, wanted)
    _check_grant(served, body.document)
    warnings += strategy.of(resource).warn(body.document)
    record = writes.create(served.cluster, resource, served.key.namespace, body.document, asked)
    answer = forms.one(served.cluster, ask, resource, record, form, 201)
    answer.warnings += warnings
    return answer


def _check_grant(served: Served, document: Json) -> None:
    rbac.check_escalation(
        served.cluster, served.judges.authorizer, served.ask.user, served.resource.storage, document
    )


def _refuse_terminating(served: Served) -> None:
    custom = served.resource.custom
    if custom is not None and custom.terminating:
        details = {"group": served.resource.group, "kind": served.resource.plural}
        message = "create not allowed while custom resource definition is terminating"
        raise status.ApiError(405, "MethodNotAllowed", message, details)


def _review(served: Served, document: Json) -> Reply:
    kind = served.resource.kind
    if kind not in ("SelfSubjectReview", "SelfSubjectRulesReview"):
        # Ownership of what is never stored: the real server notes it all the same.
        asked = options.write_options(served.ask.query, served.ask.agent, "CreateOptions")
        document["metadata"].setdefault("creationTimestamp", None)
        documents.track(served.cluster, served.resource, None, document, asked)
    found = reviews.answer(served.cluster, served.judges, served.ask.user, kind, document)
    return reply(found, served.ask.accept, 201)


def token(served: Served) -> Reply:
    """POST serviceaccounts/NAME/token."""
    ask = served.ask
    form = forms.wanted(ask, served.resource)
    wanted = bodies.expected(served.resource, "token")
    body = bodies.read(ask.body, negotiate.body_media(ask.headers.get("Content-Type", "")), wanted)
    target, cluster = ask.target, served.cluster
    found = reviews.request_token(cluster, served.judges.signer, target.namespace, target.name, body.document)
    asked = options.write_options(ask.query, ask.agent, "CreateOptions")
    asked_for = (
        ("expirationSeconds", "audiences")
        if body.document["spec"].get("audiences")
        else ("expirationSeconds",)
    )
    owned = {**found, "spec": {k: found["spec"][k] for k in asked_for}, "status": {}}
    documents.track(cluster, _TOKEN_REQUEST, None, owned, asked, "token")
    return Reply(written(found, form.media), 201, form.media)
