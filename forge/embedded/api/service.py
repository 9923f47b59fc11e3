"""One request from its target to its answer: who asks, may they, what is asked for, what comes back.

The order is the real server's: a bad token is 401 before anything else, a lack of rights is 403
before an unknown resource is 404, and only then are verb, options and body looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from forge.embedded.api import authn, exchange, options, plain, rbac, serving, status
from forge.embedded.api.cluster import Cluster, User
from forge.embedded.api.exchange import Ask, Reply, Stream
from forge.embedded.api.paths import Target
from forge.embedded.api.resources import Resource
from forge.embedded.api.reviews import Judges
from forge.embedded.api.serving import Served


@dataclass(frozen=True, slots=True)
class Service:
    """The API of one cluster, without a network."""

    cluster: Cluster
    judges: Judges

    def user(
        self, certificate_user: User | None, headers: Mapping[str, str], groups: list[str], path: str
    ) -> User:
        """Who asks; groups: all values of Impersonate-Group. Raises 401 and 403."""
        user = authn.authenticate(self.judges.reader, certificate_user, headers.get("Authorization", ""))
        if "Impersonate-User" in headers or groups:
            return authn.impersonate(self.judges.authorizer, user, headers, groups, path)
        return user

    def answer(self, ask: Ask) -> Reply | Stream:
        """The answer to *ask*, refusals included."""
        try:
            return self._answer(ask)
        except status.ApiError as error:
            return exchange.refusal(error, ask.accept)

    def _answer(self, ask: Ask) -> Reply | Stream:
        target = ask.target
        if not target.is_resource:
            self._authorize_path(ask)
            return plain.answer(self.cluster, self.judges, ask)
        verb = _verb(ask)
        self._authorize(ask, verb)
        options.check_timeout(ask.query)
        resource = self._find(target)
        _check_verb(ask, resource, verb)
        ask.target = replace(target, verb=verb)
        reply = serving.serve(Served(self.cluster, self.judges, ask, resource), verb)
        if resource.custom is not None and resource.custom.warning:
            reply.warnings.append(resource.custom.warning)
        return reply

    def _authorize_path(self, ask: Ask) -> None:
        verb = {"get": "get", "head": "get", "post": "post"}.get(ask.target.verb, ask.target.verb)
        question = rbac.Question(verb, path=ask.target.path)
        if not self.judges.authorizer.decide(ask.user, question).allowed:
            raise rbac.refuse(ask.user, question)

    def _authorize(self, ask: Ask, verb: str) -> None:
        if ask.user.is_admin:
            return
        target = ask.target
        resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
        question = rbac.Question(verb, target.group, resource, target.namespace, target.name)
        if not self.judges.authorizer.decide(ask.user, question).allowed:
            raise rbac.refuse(ask.user, question)

    def _find(self, target: Target) -> Resource:
        registry = self.cluster.registry
        found = registry.find(target.group, target.version, target.resource)
        fits = found is not None and (
            found.namespaced or not target.namespace or target.resource == "namespaces"
        )
        if found is None or not fits:
            raise _unknown(registry.is_builtin_version(target.group, target.version))
        return found


# What a real server has below a pod, and this one has not.
_POD_SUBRESOURCES = (
    "attach", "binding", "ephemeralcontainers", "eviction", "exec", "portforward", "proxy", "resize",
)  # fmt: skip


def _unknown(builtin: bool) -> status.ApiError:
    return status.no_such_resource() if builtin else status.no_such_page()


@lru_cache(maxsize=64)
def _watches(value: str | None) -> bool:
    return value is not None and value.lower() not in ("false", "0")


def _verb(ask: Ask) -> str:
    """The verb; a list that watches is a watch."""
    if ask.target.verb == "list" and _watches(ask.query.get("watch")):
        return "watch"
    return ask.target.verb


def _check_verb(ask: Ask, resource: Resource, verb: str) -> None:
    """Raises 404 and 405 for what the resource cannot do."""
    target = ask.target
    custom = resource.custom is not None
    if target.subresource:
        sub = resource.subresource(target.subresource)
        if sub is None:
            raise (
                status.not_found(resource.group, resource.plural, target.name)
                if custom
                else status.no_such_resource(_missing(resource, target.subresource))
            )
        if verb not in sub.verbs:
            raise _refused(resource, verb)
        return
    if custom and resource.namespaced and not target.namespace and verb not in ("list", "watch"):
        raise status.no_such_page()
    if target.rest:
        raise status.no_such_resource()
    if verb not in resource.verbs and not (verb in ("update", "patch") and custom):
        raise _refused(resource, verb)
    if custom:
        return
    needs_name = verb in ("update", "patch", "get", "delete")
    if (needs_name and not target.name) or (
        verb == "create" and target.name and resource.verbs != ("create",)
    ):
        raise status.method_not_allowed()
    if resource.namespaced and not target.namespace and verb not in ("list", "watch"):
        raise status.method_not_allowed()


def _missing(resource: Resource, name: str) -> str:
    return f"pods/{name}" if resource.storage == "pods" and name in _POD_SUBRESOURCES else ""


def _refused(resource: Resource, verb: str) -> status.ApiError:
    if resource.custom is None:
        return status.method_not_allowed()
    return status.method_not_allowed(resource.group, resource.plural, verb)
