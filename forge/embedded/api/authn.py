"""Who asks: a client certificate, a bearer token, or nobody; and whom they may speak for.

A bad token is refused even where nobody at all would be let in, since whoever sends one means to be
somebody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from forge.embedded.api import status
from forge.embedded.api.cluster import ANONYMOUS, Cluster, User
from forge.embedded.api.rbac import Authorizer, Question, refuse
from forge.embedded.api.tokens import ISSUER, Claims, Signer
from forge.embedded.api.values import Key, dig

CREDENTIAL = "authentication.kubernetes.io/credential-id"
_PLURALS = {"Pod": "pods", "Secret": "secrets"}


def by_certificate(subject: Any, der: bytes) -> User:
    """The user a verified client certificate names: CN, and O as groups. subject: as ssl gives it."""
    parts = [pair for group in subject for pair in group]
    name = next((value for field, value in parts if field == "commonName"), "")
    groups = tuple(value for field, value in parts if field == "organizationName")
    digest = hashlib.sha256(der).hexdigest()
    extra = ((CREDENTIAL, (f"X509SHA256={digest}",)),)
    return User(name, (*groups, "system:authenticated"), extra=extra)


class TokenReader:
    """Users by their tokens, as long as what the token names is still there."""

    def __init__(self, cluster: Cluster, signer: Signer) -> None:
        self._cluster = cluster
        self._signer = signer
        self._claims: dict[str, Claims] = {}

    def user(self, token: str, audiences: tuple[str, ...] = (ISSUER,)) -> User | None:
        """The user of *token* for any of *audiences*; None when it is not (any longer) good."""
        claims = self.claims(token)
        if claims is None or not set(claims.audiences) & set(audiences):
            return None
        account = f"system:serviceaccount:{claims.namespace}:{claims.account}"
        groups = (
            "system:serviceaccounts",
            f"system:serviceaccounts:{claims.namespace}",
            "system:authenticated",
        )
        extra: list[tuple[str, tuple[str, ...]]] = [(CREDENTIAL, (f"JTI={claims.identifier}",))]
        if claims.bound is not None and claims.bound[0] == "Pod":
            extra.append(("authentication.kubernetes.io/pod-name", (claims.bound[1],)))
            extra.append(("authentication.kubernetes.io/pod-uid", (claims.bound[2],)))
        return User(account, groups, claims.uid, tuple(extra))

    def claims(self, token: str) -> Claims | None:
        """The claims of a good token. A signature is checked once, the rest each time."""
        claims = self._claims.get(token)
        if claims is None:
            claims = self._signer.read(token)
            if claims is None:
                return None
            if len(self._claims) > 1000:
                self._claims.clear()
            self._claims[token] = claims
        return claims if self._stands(claims) else None

    def _stands(self, claims: Claims) -> bool:
        if claims.expires_at <= self._cluster.clock().timestamp():
            return False
        if self._uid("serviceaccounts", claims.namespace, claims.account) != claims.uid:
            return False
        if claims.bound is None or claims.bound[0] not in _PLURALS:
            return True
        kind, name, uid = claims.bound
        return self._uid(_PLURALS[kind], claims.namespace, name) == uid

    def _uid(self, resource: str, namespace: str, name: str) -> str:
        found = self._cluster.store.get(Key(resource, namespace, name))
        return str(dig(found.object, "metadata", "uid")) if found else ""


def authenticate(reader: TokenReader, certificate_user: User | None, authorization: str) -> User:
    """The user of a request. Raises 401 for a bad token."""
    if certificate_user is not None:
        return certificate_user
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        return ANONYMOUS
    user = reader.user(token)
    if user is None:
        raise status.unauthorized()
    return user


def impersonate(
    authorizer: Authorizer, user: User, headers: Mapping[str, str], groups: list[str], path: str
) -> User:
    """The user that *user* asks to be taken for, if they may. Raises 403."""
    name = headers.get("Impersonate-User", "")
    if not name:
        if groups:
            shown = " ".join(f"{{Group  {g}    }}" for g in groups)
            said = f'Internal Server Error: "{path}": requested [{shown}] without impersonating a user\n'
            raise status.ApiError(500, "", said, text=True)
        return user
    _allow(authorizer, user, "users", name)
    for group in groups:
        _allow(authorizer, user, "groups", group)
    given = list(groups)
    if name.startswith("system:serviceaccount:") and not groups:
        given = ["system:serviceaccounts", f"system:serviceaccounts:{name.split(':')[2]}"]
    if name != ANONYMOUS.name and "system:authenticated" not in given:
        given.append("system:authenticated")
    return User(name, tuple(given))


def _allow(authorizer: Authorizer, user: User, resource: str, name: str) -> None:
    asked = Question("impersonate", "", resource, name=name)
    if not authorizer.decide(user, asked).allowed:
        raise refuse(user, asked)
