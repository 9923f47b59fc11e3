"""GridNetwork: one grid as its administrators want it: for which gateways, by which policy, trusting whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from grid.crd.base import Condition, Count, Duration, Metadata, SecretRef, Share, View, read

KIND = "GridNetwork"
Weight = Annotated[float, Field(ge=0, le=1000)]
Threshold = Annotated[int, Field(ge=1, le=100)]


class Pressure(View):
    """When a provider is too full for new work, and when it has recovered."""

    enter_threshold: Share = 0.85
    exit_threshold: Share = 0.70
    failure_threshold: Threshold = 2
    success_threshold: Threshold = 3
    minimum_state_duration: Duration = "10s"
    recovery_hold_down: Duration = "30s"

    @classmethod
    def rules(cls) -> Mapping[str, str]:
        return {"self.exitThreshold < self.enterThreshold": "exitThreshold must be less than enterThreshold"}


class AdmissionPolicy(View):
    """missing_metrics: what a provider may take that should be measured and is not."""

    mode: Literal["instantaneous", "stabilized"] = "stabilized"
    missing_metrics: Literal["existingOnly", "excluded"] = "existingOnly"
    pressure: Pressure = Field(default_factory=Pressure)


class ScoringWeights(View):
    """How much each signal counts; only with strategy `combined`."""

    locality: Weight = 3.0
    queue_depth: Weight = 3.0
    kv_cache: Weight = 2.0
    prefix_cache: Weight = 2.0
    latency: Weight = 2.0
    cost: Weight = 1.0


class ScoringPolicy(View):
    """dead_band: by how much a score must be better before two candidates swap."""

    strategy: Literal["combined", "noMetrics", "queueDepth", "kvCachePressure"] = "combined"
    weights: ScoringWeights | None = None
    dead_band: Annotated[float, Field(ge=0, le=1000)] = 0.25

    @classmethod
    def rules(cls) -> Mapping[str, str]:
        return {
            "!has(self.weights) || self.strategy == 'combined'": "weights are for strategy combined only",
        }


class TenantBudget(View):
    """cap_usd: what the tenant may spend, for comparison."""

    tenant_id: str
    cap_usd: Annotated[float, Field(ge=0)]


class BudgetPolicy(View):
    """Spend that is shown; nothing is refused for it."""

    tenants: tuple[TenantBudget, ...] = ()


class EndpointTransport(View):
    """How a gateway speaks to a cluster."""

    mode: Literal["mutual_tls", "plaintext"]
    sni: str | None = None


class ClusterEndpoint(View):
    """Where a cluster of a gateway's configuration is."""

    cluster: str
    address: str
    transport: EndpointTransport | None = None


class ConsumerConfig(View):
    """A gateway configuration to be rendered. Kept as it is written; not rendered by this version."""

    enabled: bool = False
    config_map_name: str = "praxis-consumer-config"
    cluster_endpoints: tuple[ClusterEndpoint, ...] = ()
    credential_mount_base: str = "/run/secrets/grid-credentials"
    listener_port: Annotated[int, Field(ge=0, le=65535)] = 8080
    tls_cert_mount_path: str = "/etc/praxis/tls"


class GatewayRef(View):
    """One gateway an overlay is rendered for.

    namespace: where its ConfigMap is. local_site_name: the GridSite it stands at, whose view it gets.
    profile: external stays closed to what is not known, workload goes on. status_endpoint: an https URL its
    /status answers at. max_age: how long its overlay stands without a writer.
    """

    name: str
    namespace: str
    local_site_name: str | None = None
    profile: Literal["external", "workload"] = "external"
    status_endpoint: Annotated[str, Field(max_length=2048, pattern="^https://.+")] | None = None
    max_age: Duration = "5m"
    consumer_config: ConsumerConfig | None = None


class Swim(View):
    """Membership tuning. The durations are free strings for old objects; what is none has its default."""

    probe_interval: str = "5s"
    suspicion_timeout: str = "10s"
    gossip_nodes: Count = 3


class NetworkTls(View):
    """ca and site: the Secrets of site-to-site trust. swim_key_ref: 32 raw bytes that seal membership."""

    ca_secret_ref: SecretRef | None = None
    site_secret_ref: SecretRef | None = None
    swim_key_ref: SecretRef | None = None


class NetworkSpec(View):
    """grid_id: what seals the wire; empty is the network's name. seeds: `host:port` of other sites."""

    grid_id: str = ""
    region: str | None = None
    zone: str | None = None
    seeds: tuple[str, ...] = ()
    gateway_refs: tuple[GatewayRef, ...] = ()
    routing_policy: Literal["geographyFirst", "scoreFirst"] | None = None
    scoring_policy: ScoringPolicy | None = None
    admission_policy: AdmissionPolicy | None = None
    budget_policy: BudgetPolicy | None = None
    metrics_refresh_interval: Duration | None = None
    stale_candidate_ttl_seconds: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = None
    startup_grace: Duration = "10s"
    swim: Swim = Field(default_factory=Swim)
    tls: NetworkTls = Field(default_factory=NetworkTls)


class OverlayStatus(View):
    """How far one gateway's overlay has come.

    phase: the last step of desired -> rendered -> distributed -> accepted -> serving that is proved; Pending,
    Error and Retained are the words older readers know.
    """

    gateway_name: str
    namespace: str
    config_map_name: str
    schema_version: str
    rendered_revision: str
    distributed_revision: str
    accepted_revision: str = ""
    serving_revision: str = ""
    content_digest: str
    candidate_count: Count = 0
    dropped_candidates: Count = 0
    rendered_at: str = ""
    config_map_resource_version: str = ""
    phase: Literal[
        "Pending", "Desired", "Rendered", "Distributed", "Accepted", "Serving", "Error", "Retained"
    ] = "Pending"
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class ConsumerConfigStatus(View):
    """What became of one gateway's consumer configuration."""

    gateway_name: str
    namespace: str
    config_map_name: str = ""
    phase: Literal["Rendered", "Error", "Disabled"]
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class BudgetStatus(View):
    """One tenant's spend as far as this site has heard of it."""

    tenant_id: str
    cap_usd: float
    spend_usd: float
    spend_ratio: float


class NetworkStatus(View):
    """connected_sites: Active provider sites. distributed_provider_count: providers of other sites."""

    grid_id: str = ""
    phase: Literal["Pending", "Initializing", "Active", "Degraded"] = "Pending"
    connected_sites: Count = 0
    distributed_provider_count: Count = 0
    overlay_status: tuple[OverlayStatus, ...] = ()
    consumer_config_status: tuple[ConsumerConfigStatus, ...] = ()
    budget_status: tuple[BudgetStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class GridNetwork(View):
    """A grid: its members, the gateways it renders overlays for, and the policy it does so by."""

    metadata: Metadata
    spec: NetworkSpec
    status: NetworkStatus | None = None

    @property
    def grid_id(self) -> str:
        return self.spec.grid_id or self.metadata.name


def read_network(document: Mapping[str, Any]) -> GridNetwork:
    """A GridNetwork object as a value. Raises ResourceInvalid."""
    return read(GridNetwork, KIND, document)
