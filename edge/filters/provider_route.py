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
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from edge.chain import Exchange, Reply, Response, Traits, refuse
from edge.config.fields import HeaderName
from edge.config.paths import normalise
from edge.config.strict import Strict
from edge.setup import Setup, Unusable
from grid.contract.digest import stable_id
from grid.contract.names import INFERENCE_MODEL

_STRIPPED = (b"x-ai-routing-", b"x-ai-provider-", b"x-grid-peer-")
_CANDIDATE, _REQUEST_ID = b"x-ai-routing-candidate", b"x-ai-routing-request-id"
_REVISION = b"x-ai-routing-revision"
_UNSENT = b"x-ai-provider-unsent"
# A count, or a digest with or without its algorithm, as the formats of overlays have them.
_IS_REVISION = re.compile(rb"[0-9]{1,20}|(?:sha256:)?[0-9a-f]{64}").fullmatch
_IS_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch
Text = Annotated[str, Field(min_length=1, max_length=256)]


class Named(Strict):
    """A candidate by what its stable id is made of."""

    kind: Text = INFERENCE_MODEL
    name: Text
    site: Text
    cluster: Text


class SecretRef(Strict):
    name: Text
    namespace: Text
    key: Text


class CredentialRef(Strict):
    """Where `credential_inject` finds the token; never its bytes."""

    strategy: Literal["bearer_token", "api_key"] = "bearer_token"
    secretRef: SecretRef  # noqa: N815  # as the files of the reference spell it


class RouteOptions(Strict):
    """candidate_id, or candidate: its parts, hashed here. model: exact. paths: exact, as they are
    sent: another spelling of one is another path."""

    candidate_id: Text | None = None
    candidate: Named | None = None
    model: Text
    paths: Annotated[list[Annotated[str, Field(max_length=256)]], Field(min_length=1, max_length=64)]
    cluster: Text
    credential: CredentialRef | None = None

    @field_validator("paths")
    @classmethod
    def _comparable(cls, paths: list[str]) -> list[str]:
        for path in paths:
            if not path.startswith("/") or normalise(path.encode()) != path.encode():
                raise ValueError("must begin with '/' and be normalised: no '//', '.', '..', ';' or '%'")
        return paths

    @model_validator(mode="after")
    def _one_name(self) -> RouteOptions:
        if (self.candidate_id is None) == (self.candidate is None):
            raise ValueError("needs exactly one of candidate_id, candidate")
        return self

    @property
    def stable_id(self) -> str:
        of = self.candidate
        return self.candidate_id or "" if of is None else stable_id(of.kind, of.name, of.site, of.cluster)


class Options(Strict):
    """provider_id: who the backend is told it is asked through. emit_demo_attribution: also tell the edge."""

    provider_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,128}$")]
    model_header: HeaderName = "X-Model"
    routes: Annotated[list[RouteOptions], Field(min_length=1, max_length=1024)]
    emit_demo_attribution: bool = False

    @model_validator(mode="after")
    def _distinct(self) -> Options:
        served = [(route.stable_id, route.model) for route in self.routes]
        if len(set(served)) != len(served):
            raise ValueError("a candidate stands twice for one model")
        return self


@dataclass(frozen=True, slots=True)
class Route:
    """credential: as `credential_inject` names it."""

    paths: frozenset[bytes]
    cluster: str
    credential: str | None


@dataclass(frozen=True, slots=True)
class ProviderRoute:
    """routes: stable_id -> model -> where to."""

    provider_id: bytes
    routes: Mapping[str, Mapping[str, Route]]
    emits_attribution: bool

    config = Options
    traits = Traits(
        reads=frozenset({"identity", "model"}),
        writes=frozenset({"candidate", "cluster", "credential"}),
        guard="peer_identity_trust",
        needs_client_certificate=True,
    )

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
