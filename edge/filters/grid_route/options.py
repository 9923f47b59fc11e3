"""What a configuration says of grid_route: where candidates come from, sessions, age, failover.

Shapes and the rules between two fields; whether files and clusters exist is asked when the filter is built.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from edge.config.expand import FilePath
from edge.config.fields import HeaderName
from edge.config.strict import Strict
from edge.routing.affinity import MAX_SESSION_BYTES
from edge.routing.attempts import MAX_ATTEMPTS
from edge.routing.bindings import Limits
from edge.routing.creations import Rate
from edge.routing.freshness import AgePolicy, HardExpiry

Text = Annotated[str, Field(min_length=1, max_length=256)]
Seconds = Annotated[float, Field(gt=0, le=1e9)]


class StaticCandidate(Strict):
    kind: Literal["inference_model"] = "inference_model"
    name: Text
    site: Text
    cluster: Text
    fresh: bool = True


class OverlayScope(Strict):
    """What a document must say of itself; a part left out expects nothing."""

    network: str = ""
    gateway: str = ""
    namespace: str = ""
    local_site: str = ""


class Reload(Strict):
    """enabled: whether the file is followed. debounce_ms: silence to wait for after a change. The last good
    overlay is always kept; saying so is allowed."""

    enabled: bool = True
    debounce_ms: Annotated[int, Field(ge=1, le=60_000)] = 25
    keep_last_good: Literal[True] = True


class AffinityOptions(Strict):
    """secret_file: at least 16 bytes, used as they are, a newline included. previous_secret_file: during a
    rotation; bindings made under it hold. algorithm: there is one."""

    enabled: bool = True
    session_header: HeaderName = "X-Praxis-Session-ID"
    secret_file: FilePath
    previous_secret_file: FilePath | None = None
    algorithm: Literal["rendezvous"] = "rendezvous"
    max_session_id_bytes: Annotated[int, Field(ge=1, le=MAX_SESSION_BYTES)] = MAX_SESSION_BYTES
    ttl_secs: Annotated[int, Field(ge=1, le=86_400)] = 3_600
    max_entries: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    creations_per_second: Annotated[float, Field(gt=0, le=1e6)] = 50
    creation_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000

    @property
    def limits(self) -> Limits:
        return Limits(self.ttl_secs, self.max_entries, Rate(self.creations_per_second, self.creation_burst))


class AgeOptions(Strict):
    """Seconds since the overlay was last accepted or refreshed; left out: never."""

    degraded_after_seconds: Seconds | None = 60
    not_ready_after_seconds: Seconds | None = 300
    expires_after_seconds: Seconds | None = None
    hard_expiry: Literal["serve", "reject"] = "serve"

    @property
    def policy(self) -> AgePolicy:
        return AgePolicy(
            self.degraded_after_seconds,
            self.not_ready_after_seconds,
            self.expires_after_seconds,
            HardExpiry(self.hard_expiry),
        )


class Options(Strict):
    """candidates: written here, in order; else overlay_file. local_site, local_region: where this gateway
    stands, for its log; an overlay knows the site itself. start_unready: begin without a valid overlay
    instead of refusing to start. required_models: the gateway is ready only while each of them is open to new
    work; none: while any model is. sites: where requests may be served at all. spread: of requests without a
    session, among equals. max_attempts, attempts_secs: for one request, while no byte of it has left.
    model_header: where `json_body_field` puts the model; written down for readers, the model is a fact."""

    candidates: Annotated[list[StaticCandidate], Field(max_length=1024)] = Field(default_factory=list)
    local_site: str = ""
    local_region: str = ""
    overlay_file: FilePath | None = None
    reload: Reload | None = None
    start_unready: bool = False
    model_header: HeaderName = "X-Model"
    expected_overlay_scope: OverlayScope | None = None
    provider_hop_clusters: list[Text] = Field(default_factory=list, max_length=10_000)
    affinity: AffinityOptions | None = None
    overlay_age: AgeOptions = Field(default_factory=AgeOptions)
    required_models: list[Text] = Field(default_factory=list, max_length=1024)
    sites: list[Text] | None = None
    spread: Literal["deterministic", "round_robin", "rendezvous"] = "deterministic"
    max_attempts: Annotated[int, Field(ge=1, le=16)] = MAX_ATTEMPTS
    attempts_secs: Seconds = 10

    @property
    def debounce_ms(self) -> int:
        return (self.reload or Reload()).debounce_ms

    @model_validator(mode="after")
    def _one_source(self) -> Options:
        if bool(self.candidates) == (self.overlay_file is not None):
            raise ValueError("needs exactly one of candidates, overlay_file")
        if self.candidates and not self.local_site:
            raise ValueError("candidates need local_site")
        if self.overlay_file is None and (self.affinity or self.expected_overlay_scope or self.reload):
            raise ValueError("affinity, expected_overlay_scope and reload need overlay_file")
        return self
