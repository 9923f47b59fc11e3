"""Reviews: questions about users and their rights, answered and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from forge.embedded.api import status
from forge.embedded.api.authn import TokenReader
from forge.embedded.api.cluster import Cluster, User
from forge.embedded.api.rbac import Authorizer, Decision, Question
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.tokens import ISSUER, Claims, Signer
from forge.embedded.api.values import Json, Key, dig

_DEFAULT_LIFETIME_S = 3600
_SHORTEST_S = 600


@dataclass(frozen=True, slots=True)
class Judges:
    """What reviews ask."""

    authorizer: Authorizer
    reader: TokenReader
    signer: Signer


def answer(cluster: Cluster, judges: Judges, user: User, kind: str, document: Json) -> Json:
    """The review *document* of *kind* with its status filled in. Raises 422."""
    document.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    if kind == "SelfSubjectReview":
        document["metadata"]["creationTimestamp"] = cluster.now()
    if kind == "TokenReview":
        return document | {"status": _token_review(judges.reader, document)}
    if kind == "SelfSubjectReview":
        return document | {"status": {"userInfo": user_info(user)}}
    if kind == "SelfSubjectRulesReview":
        return document | {"spec": {}, "status": _rules_review(judges.authorizer, user, document)}
    subject = user if kind == "SelfSubjectAccessReview" else _subject(document)
    decision = _access(judges.authorizer, subject, document)
    found: Json = {"allowed": decision.allowed}
    if decision.reason:
        found["reason"] = decision.reason
    return document | {"status": found}


def user_info(user: User) -> Json:
    info: Json = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra}
    return info


def _subject(document: Json) -> User:
    spec = document.get("spec") or {}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""))


def _access(authorizer: Authorizer, user: User, document: Json) -> Decision:
    spec = document.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    _check(resource, path)
    if resource is None:
        path = path or {}
        return authorizer.decide(user, Question(path.get("verb", ""), path=path.get("path", "")))
    name = resource.get("resource", "")
    if resource.get("subresource"):
        name = f"{name}/{resource['subresource']}"
    asked = Question(
        resource.get("verb", ""), resource.get("group", ""), name, resource.get("namespace", ""),
        resource.get("name", ""),
    )  # fmt: skip
    return authorizer.decide(user, asked)


def _check(resource: Any, path: Any) -> None:
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = Cause("spec.resourceAttributes", "FieldValueInvalid", f'Invalid value: "null": {why}')
    elif resource is not None and path is not None:
        shown = f"Path:{status.quote(path.get('path', ''))}, Verb:{status.quote(path.get('verb', ''))}"
        value = f"authorization.NonResourceAttributes{{{shown}}}"
        why = f"Invalid value: {value}: cannot be specified in combination with resourceAttributes"
        cause = Cause("spec.nonResourceAttributes", "FieldValueInvalid", why)
    else:
        return
    raise status.invalid("authorization.k8s.io", "", "", [cause])


def _rules_review(authorizer: Authorizer, user: User, document: Json) -> Json:
    rules = authorizer.rules(user, dig(document, "spec", "namespace") or "")
    plain = [
        {"verbs": r["verbs"], "nonResourceURLs": r["nonResourceURLs"]}
        for r in rules
        if r.get("nonResourceURLs")
    ]
    named = ("verbs", "apiGroups", "resources", "resourceNames")
    found = [{k: r[k] for k in named if r.get(k)} for r in rules if r.get("resources")]
    return {"resourceRules": found, "nonResourceRules": plain, "incomplete": False}


def _token_review(reader: TokenReader, document: Json) -> Json:
    spec = document.get("spec") or {}
    audiences = tuple(spec.get("audiences") or (ISSUER,))
    token = spec.get("token", "")
    user = reader.user(token, audiences)
    claims = reader.claims(token)
    if user is None or claims is None:
        return {"user": {}, "error": "invalid bearer token"}
    shared = [a for a in audiences if a in claims.audiences]
    return {"authenticated": True, "user": user_info(user), "audiences": shared}


def request_token(cluster: Cluster, signer: Signer, namespace: str, name: str, document: Json) -> Json:
    """Answers a TokenRequest for a ServiceAccount. Raises 404 and 422."""
    account = cluster.store.get(Key("serviceaccounts", namespace, name))
    if account is None:
        raise status.not_found("", "serviceaccounts", name)
    spec = document.get("spec") or {}
    lifetime_s = spec.get("expirationSeconds") or _DEFAULT_LIFETIME_S
    if lifetime_s < _SHORTEST_S:
        cause = status.wrong(
            "spec.expirationSeconds", lifetime_s, "may not specify a duration less than 10 minutes"
        )
        raise status.invalid("authentication.k8s.io", "TokenRequest", "", [cause])
    bound = _bound(cluster, namespace, spec.get("boundObjectRef"))
    audiences = list(spec.get("audiences") or [ISSUER])
    now = cluster.clock()
    expires = now + timedelta(seconds=lifetime_s)
    uid = account.object["metadata"]["uid"]
    claims = Claims(namespace, name, uid, tuple(audiences), int(expires.timestamp()), cluster.uid(), bound)
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": cluster.now()},
        "spec": {
            "audiences": audiences,
            "expirationSeconds": lifetime_s,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {
            "token": signer.sign(claims, int(now.timestamp())),
            "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }


def _bound(cluster: Cluster, namespace: str, ref: Json | None) -> tuple[str, str, str] | None:
    if not ref:
        return None
    kind, name = ref.get("kind", ""), ref.get("name", "")
    plural = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(kind)
    if plural is None:
        cause = status.wrong("spec.boundObjectRef.kind", kind, "cannot bind a token to this kind")
        raise status.invalid("authentication.k8s.io", "TokenRequest", "", [cause])
    found = cluster.store.get(Key(plural, "" if kind == "Node" else namespace, name))
    if found is None:
        raise status.not_found("", plural, name)
    uid = str(found.object["metadata"]["uid"])
    if ref.get("uid") and ref["uid"] != uid:
        why = f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record. "
        raise status.conflict("", plural, name, why + "The object might have been deleted and then recreated")
    return kind, name, uid
