"""The World: all that was observed, at one instant, as values. `decide` reads nothing else.

    resources (as the API holds them) ── what was measured here (probes, scrapes)
    what other sites say (the mesh)   ── what gateways say of themselves
    the overlays that are stored      ── when this process began

Whoever observes fills it; whoever decides never asks for more. Instants are Unix seconds by this host's
clock; no instant of another site's clock is in it, only ages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grid.contract.overlay import Credential
from grid.contract.status import GatewayStatus
from grid.crd.network import GridNetwork
from grid.crd.provider import InferenceProvider
from grid.crd.site import GridSite
from grid.scoring.health import Health, Phase
from grid.scoring.signals import Category, Signals

# The Secret with an operator's certificate, in its own namespace, and the key the grid's CA is under.
SITE_SECRET, CA_KEY = "site-tls", "ca.crt"


@dataclass(frozen=True, slots=True)
class Reading:
    """One scrape. number: counts this provider's scrapes. at: when its answer came."""

    number: int
    at: float
    signals: Signals


class Drain(StrEnum):
    """How far a provider is taken out by hand; the resource's values."""

    NONE = "none"
    EXISTING_ONLY = "existingOnly"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Capacity:
    """A provider at one site, wherever it was declared: what gossip carries and what scoring needs.

    models: by name. cluster: what gateways call the way to it. access: labels a gateway's site must carry.
    phase: its health as its own site judges it. measured: whether it should have readings.
    reading: the number of the newest, None before the first. signals: what it held, and the cost.
    age_s: how old what is known was when it reached us, at `at`. It is fresh for fresh_for_s in all.
    """

    network: str
    site: str
    provider: str
    models: tuple[str, ...]
    cluster: str
    category: Category
    phase: Phase
    access: tuple[tuple[str, str], ...] = ()
    drain: Drain = Drain.NONE
    measured: bool = False
    reading: int | None = None
    signals: Signals = field(default_factory=Signals)
    age_s: float = 0.0
    at: float = 0.0
    fresh_for_s: float = 30.0
    credential: Credential | None = None


class Membership(StrEnum):
    """What the mesh holds of a site."""

    ALIVE = "alive"
    SUSPECT = "suspect"
    DEAD = "dead"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What a site gossips of itself beside its state; "" is not said."""

    role: str = ""
    region: str = ""
    zone: str = ""
    sovereignty_zone: str = ""
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A site as the mesh sees it. since: when it came to be so, here. address: its gateway, as it gossips."""

    state: Membership
    since: float
    address: str = ""
    facts: SiteFacts = field(default_factory=SiteFacts)


@dataclass(frozen=True, slots=True)
class MeshStanding:
    """How a network's membership stands here. running: whether this site is a member.

    taken_by: the address of another that lives under our name; empty where there is none.
    """

    running: bool
    reason: str
    message: str = ""
    taken_by: str = ""


class Trust(StrEnum):
    """What a TLS probe of a site found. The first is proof; the last two say nothing about trust."""

    VERIFIED = "TlsVerified"
    PIN_MISMATCH = "PinMismatch"
    UNTRUSTED_ISSUER = "UntrustedIssuer"
    IDENTITY_MISMATCH = "IdentityMismatch"
    CERTIFICATE_EXPIRED = "CertificateExpired"
    CERTIFICATE_NOT_YET_VALID = "CertificateNotYetValid"
    TRUST_MATERIAL_MISSING = "TrustMaterialMissing"
    TRUST_MATERIAL_INVALID = "TrustMaterialInvalid"
    TLS_PROTOCOL_ERROR = "TlsProtocolError"
    CONNECTION_FAILED = "ConnectionFailed"
    CONNECT_TIMEOUT = "ConnectTimeout"


@dataclass(frozen=True, slots=True)
class Identified:
    """What the check of a certificate found. detail: what is wrong, for people; "" if nothing is."""

    found: Trust
    detail: str = ""


UNREACHED = frozenset({Trust.CONNECTION_FAILED, Trust.CONNECT_TIMEOUT})


@dataclass(frozen=True, slots=True)
class Reach:
    """The last probe of a site, and its run of consecutive results, where OK is VERIFIED."""

    found: Trust
    health: Health


@dataclass(frozen=True, slots=True)
class Stored:
    """An overlay's ConfigMap as it is. text: None if the key is not there.

    revision: as its annotation says, 0 if that says nothing; for when the text is lost.
    """

    namespace: str
    name: str
    network: str
    gateway: str
    text: str | None
    revision: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """site, namespace: this operator's own. networks, sites, providers: in the API, by name.

    unreadable: problems of objects that are not what they say, by `Kind name`.
    health, readings: of this cluster's providers, by name; absent before the first.
    unread: why this cluster's providers gave no reading of late, by name; absent where they do.
    capacities: what other sites offer. members: by (network, site). reached: by site, absent if never probed.
    identity: what the check of our own certificate found; None while there is no GridSite to check it for.
    gateway: where our own is to be reached, `host:port`; empty where that is not known. meshes: by network.
    certificates: what sites announced as theirs, PEM, by (network, site).
    gateways: last status by (namespace, gateway); absent if none was read.
    closed: namespaces whose ConfigMaps cannot be read, and why. stored: all other overlay ConfigMaps.
    unwritten: overlays the API would not take when last tried, by (namespace, name), and why.
    settled: the mesh and the scrapes have been heard once.
    """

    site: str
    namespace: str = "grid-system"
    networks: tuple[GridNetwork, ...] = ()
    sites: tuple[GridSite, ...] = ()
    providers: tuple[InferenceProvider, ...] = ()
    unreadable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    health: Mapping[str, Health] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    capacities: tuple[Capacity, ...] = ()
    members: Mapping[tuple[str, str], Member] = field(default_factory=dict)
    reached: Mapping[str, Reach] = field(default_factory=dict)
    identity: Identified | None = None
    gateways: Mapping[tuple[str, str], GatewayStatus] = field(default_factory=dict)
    stored: tuple[Stored, ...] = ()
    closed: Mapping[str, str] = field(default_factory=dict)
    unwritten: Mapping[tuple[str, str], str] = field(default_factory=dict)
    gateway: str = ""
    meshes: Mapping[str, MeshStanding] = field(default_factory=dict)
    certificates: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    started_at: float = 0.0
    settled: bool = True

    def has_mesh(self, network: str) -> bool:
        """Whether *network* wants a mesh; whether one runs, its standing says."""
        return any(
            each.metadata.name == network and each.spec.tls.swim_key_ref is not None for each in self.networks
        )
