"""InferenceProvider: capacity a site declares: models, how it is reached, measured, paid for, permitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from grid.crd.base import Condition, Count, EndpointTls, Metadata, Name, SecretRef, SiteSelector, View, read

KIND = "InferenceProvider"
Threshold = Annotated[int, Field(ge=1, le=100)]


class AccessPolicy(View):
    """site_selector: which gateways' sites may use it; empty allows all."""

    site_selector: SiteSelector = Field(default_factory=SiteSelector)


class Auth(View):
    """Where the final hop finds this provider's credential. A reference: Grid never reads the Secret."""

    strategy: Literal["api_key", "bearer_token", "custom", "mtls_only", "oauth2", "service_account", "sigv4"]
    manual: bool = False
    secret_ref: SecretRef | None = None


class Cost(View):
    """USD per million tokens."""

    per_million_input_tokens: float = 0.0
    per_million_output_tokens: float = 0.0


class HealthCheck(View):
    """Probes of `endpoint` (default the provider's) + `path`. Consecutive results decide, one never does.

    interval, timeout: free strings for old objects; what is no duration has its default.
    """

    endpoint: Name | None = None
    path: str | None = None
    interval: str | None = None
    timeout: str | None = None
    failure_threshold: Threshold = 3
    success_threshold: Threshold = 2
    tls: EndpointTls | None = None


class SignalNames(View):
    """Metric names where they are not those of a known engine."""

    queue_depth: str | None = None
    kv_cache_utilization: str | None = None
    prefix_cache_hit_ratio: str | None = None
    latency_p99_ms: str | None = Field(default=None, alias="latencyP99Ms")
    error_rate: str | None = None
    healthy: str | None = None


class MetricsConfig(View):
    """Scrapes of `metrics_endpoint` (default the provider's) + `path`.

    pool_name: only series with this label `name`. queue_capacity: what a full queue holds.
    stale_metrics_seconds: how long a sample speaks for its provider.
    """

    metrics_endpoint: Name | None = None
    path: str = "/metrics"
    pool_name: Name | None = None
    queue_capacity: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = None
    signal_names: SignalNames = Field(default_factory=SignalNames)
    stale_metrics_seconds: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = None
    timeout: str = "2s"
    tls: EndpointTls | None = None


class Model(View):
    """A model it serves, by the name requests use."""

    name: str
    capabilities: tuple[str, ...] = ()
    context_window: Count | None = None


class TrafficPolicy(View):
    """drain: taken out by hand. existingOnly lets bound sessions end, all stops everything."""

    drain: Literal["none", "existingOnly", "all"] = "none"


class ProviderSpec(View):
    """site_selector: the sites that have it; empty is the declaring operator's own.

    routing_cluster_ref: what gateways call the way to it; default `gateway-<site>`.
    backend_kind: local, remote, cloud_managed or api_provider.
    """

    grid_network_ref: str
    provider_kind: str
    backend_kind: str
    endpoint: str
    models: tuple[Model, ...] = ()
    routing_cluster_ref: str | None = None
    site_selector: SiteSelector = Field(default_factory=SiteSelector)
    access_policy: AccessPolicy = Field(default_factory=AccessPolicy)
    auth: Auth | None = None
    cost: Cost | None = None
    health_check: HealthCheck | None = None
    metrics_config: MetricsConfig | None = None
    traffic_policy: TrafficPolicy | None = None


class AdmissionStatus(View):
    """What the provider takes, and why, per its admission machine; read back when an operator restarts."""

    state: Literal["new_and_existing", "existing_only", "none"]
    reason: str = ""


class ProviderStatus(View):
    """matching_sites: the sites that have it."""

    phase: Literal["Pending", "Available", "Degraded", "Unavailable"] = "Pending"
    reason: str | None = None
    matching_sites: tuple[str, ...] = ()
    admission: AdmissionStatus | None = None
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class InferenceProvider(View):
    """Model capacity, offered to the grid by the site that declares it."""

    metadata: Metadata
    spec: ProviderSpec
    status: ProviderStatus | None = None


def read_provider(document: Mapping[str, Any]) -> InferenceProvider:
    """An InferenceProvider object as a value. Raises ResourceInvalid."""
    return read(InferenceProvider, KIND, document)
