"""Options of `provider_route`, as in `edge.filters.provider_route`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from edge.config.fields import HeaderName
from edge.config.paths import normalise
from edge.config.strict import Strict
from grid.contract.digest import stable_id
from grid.contract.names import INFERENCE_MODEL

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
