"""GridSite: one place of the grid: where it is, how it is reached, and by which certificate it is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from grid.crd.base import Condition, Metadata, View, read

KIND = "GridSite"
Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class EgressTls(View):
    """server_name: the DNS name its certificate must carry, also the SNI."""

    mode: Literal["Mutual", "Plaintext"] = "Mutual"
    server_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None


class Endpoint(View):
    """address: `host:port` of the site's gateway."""

    address: str
    tls: EgressTls = Field(default_factory=EgressTls)


class Trust(View):
    """canonical_fingerprints: hex SHA-256 of the leaf's DER; the current one, and the next while it rotates.

    cert_fingerprint: an older way to say it, which proves nothing and keeps a site from being trusted.
    """

    canonical_fingerprints: Annotated[tuple[Fingerprint, ...], Field(min_length=1, max_length=2)] | None = (
        None
    )
    cert_fingerprint: str | None = None


class SiteSpec(View):
    """role: an edge consumes and waits for no peer; a provider must be verified before it is routed to.

    gateway_endpoint is kept by the operator; egress is its older name.
    """

    grid_network_ref: str
    role: Literal["provider", "edge", "combined"] = "provider"
    region: str | None = None
    zone: str | None = None
    sovereignty_zone: str | None = None
    gateway_endpoint: Endpoint | None = None
    egress: Endpoint | None = None
    trust: Trust | None = None

    @classmethod
    def rules(cls) -> Mapping[str, str]:
        return {
            "!has(self.egress) || !has(self.gatewayEndpoint) || "
            "self.egress.address == self.gatewayEndpoint.address": (
                "egress is the older name of gatewayEndpoint: both must give one address"
            ),
        }


class Capabilities(View):
    """What the site offers."""

    inference: bool = False
    agent_tools: bool = False
    agent_to_agent: bool = False


class SiteStatus(View):
    """public_cert_pem: the certificate the site announced; never a key."""

    phase: Literal["Pending", "Discovered", "Connecting", "Active", "Unreachable", "Left"] = "Pending"
    reason: str = ""
    message: str = ""
    capabilities: Capabilities = Field(default_factory=Capabilities)
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    public_cert_pem: str | None = None
    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class GridSite(View):
    """A participating site: a provider of capacity, an edge that consumes it, or both."""

    metadata: Metadata
    spec: SiteSpec
    status: SiteStatus | None = None

    @property
    def endpoint(self) -> Endpoint | None:
        return self.spec.gateway_endpoint or self.spec.egress


def read_site(document: Mapping[str, Any]) -> GridSite:
    """A GridSite object as a value. Raises ResourceInvalid."""
    return read(GridSite, KIND, document)
