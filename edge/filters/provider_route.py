"""The provider's own map: which candidate, for which model, on which paths, goes to which private backend.

An edge names a candidate; what that means here is decided here alone, by exact match. A candidate that is not
in the map is forbidden, a model or path it does not serve is not found. The routing fields end here, and so
does the caller's credential: the backend sees the provider's own attribution and, by `credential_inject`, the
provider's own token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits, refuse
from edge.filters.options.provider_route import CredentialRef, Options
from edge.setup import Setup, Unusable

_STRIPPED = (b"x-ai-routing-", b"x-ai-provider-", b"x-grid-peer-")
_CANDIDATE, _REQUEST_ID = b"x-ai-routing-candidate", b"x-ai-routing-request-id"
_REVISION = b"x-ai-routing-revision"
_UNSENT = b"x-ai-provider-unsent"
# A count, or a digest with or without its algorithm, as the formats of overlays have them.
_IS_REVISION = re.compile(rb"[0-9]{1,20}|(?:sha256:)?[0-9a-f]{64}").fullmatch
_IS_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch


@dataclass(frozen=True, slots=True)
class Route:
    """credential: as `credential_inject` names it."""

    paths: frozenset[bytes]
    cluster: str
    credential: str | None


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(
        reads=frozenset({"identity", "model"}),
        writes=frozenset({"candidate", "cluster", "credential"}),
        guard="peer_identity_trust",
        needs_client_certificate=True,
    )


@dataclass(frozen=True, slots=True)
class ProviderRoute(_Kind):
    """routes: stable_id -> model -> where to."""

    provider_id: bytes
    routes: Mapping[str, Mapping[str, Route]]
    emits_attribution: bool

    @classmethod
    def build(cls, options: Options, setup: Setup) -> ProviderRoute:
        """Raises Unusable for a cluster nobody defined."""
        routes: dict[str, dict[str, Route]] = {}
        for at, given in enumerate(options.routes):
            if given.cluster not in setup.clusters:
                raise Unusable(f"no cluster {given.cluster!r}", "routes", at, "cluster")
            paths = frozenset(path.encode() for path in given.paths)
            made = Route(paths, given.cluster, _reference(given.credential))
            routes.setdefault(given.stable_id, {})[given.model] = made
        return cls(options.provider_id.encode(), routes, options.emit_demo_attribution)

    def on_body(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        candidate, request_id, revision = (
            fields.get(name, b"") for name in (_CANDIDATE, _REQUEST_ID, _REVISION)
        )
        for name in [name for name in fields if name.startswith(_STRIPPED)]:
            del fields[name]
        fields.pop(b"authorization", None)
        if not _IS_REQUEST_ID(request_id) or not _IS_REVISION(revision):
            return refuse(exchange, 403, "routing_context_required")
        served = self.routes.get(candidate.decode("latin-1"))
        if served is None:
            return refuse(exchange, 403, "candidate_not_served")
        if exchange.model is None:
            return refuse(exchange, 400, "model_required", "'model' is required.", param="model")
        route = served.get(exchange.model)
        if route is None or exchange.request.path not in route.paths:
            return refuse(exchange, 404, "no_route")
        exchange.candidate, exchange.cluster = candidate.decode("latin-1"), route.cluster
        exchange.credential = route.credential
        fields[b"x-ai-provider-request-id"] = request_id
        fields[b"x-ai-provider-attribution"] = self.provider_id
        fields[b"x-ai-provider-routing-revision"] = revision
        return None

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        """A backend cannot say for us that nothing was sent; we say it when it is so, always with 503: the
        edge may then ask another provider."""
        reply.remove(_UNSENT)
        if exchange.unsent or (reply.local and reply.status == 503 and exchange.fault is None):
            reply.status = exchange.status = 503
            reply.set(_UNSENT, b"1")
            reply.set(b"retry-after", b"1")
        if self.emits_attribution:
            reply.set(b"x-ai-demo-provider-gateway", self.provider_id)


def _reference(credential: CredentialRef | None) -> str | None:
    if credential is None:
        return None
    secret = credential.secretRef
    return f"{secret.namespace}/{secret.name}/{secret.key}"
