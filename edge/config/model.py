"""The gateway's configuration as strict models: the shape of the file, and what one object alone can say.

Rules between objects are in `edge.config.load`; what a filter takes is beside the filter, in `edge.filters`.
Durations are milliseconds in the file (`…_ms`) unless the name says seconds.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from edge.config.conditions import Condition, ReplyCondition
from edge.config.expand import Address, FilePath
from edge.config.strict import Strict, rule

Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9._-]+$")]
Millis = Annotated[int, Field(ge=1, le=3_600_000)]
Bytes = Annotated[int, Field(ge=0, le=1 << 40)]
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
ClientCertMode = Literal["none", "request", "require"]
StrategyName = Literal["round_robin", "least_connections", "p2c", "consistent_hash"]
Hashed = Literal["header", "path", "client_address", "session"]

_MAX_WEIGHT = 65_535
_MAX_HASHED = 1000  # endpoints: each request of such a cluster scores them all
_NEVER_SEEN = frozenset(
    ("connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)  # by filters and balancers: the engine has taken these out


class Certificate(Strict):
    cert_path: FilePath
    key_path: FilePath
    server_names: list[str] = Field(default_factory=list)
    default: bool = False


class ClientCa(Strict):
    ca_path: FilePath


class ListenerTls(Strict):
    """certificates: one needs nothing else; of several, each has server_names or is the default."""

    certificates: Annotated[list[Certificate], Field(min_length=1)]
    client_ca: ClientCa | None = None
    client_cert_mode: ClientCertMode = "none"
    min_version: Literal["tls12", "tls13"] = "tls12"
    hot_reload: bool = True

    @rule
    def _sound(self) -> None:
        if self.client_cert_mode != "none" and self.client_ca is None:
            raise ValueError(f"client_cert_mode {self.client_cert_mode} needs client_ca")
        if len(self.certificates) > 1:
            if any(not c.server_names and not c.default for c in self.certificates):
                raise ValueError("with several certificates, each needs server_names or default: true")
            if sum(c.default for c in self.certificates) > 1:
                raise ValueError("only one certificate can be the default")


class Listener(Strict):
    """address: a literal ip:port. downstream_read_timeout_ms: between two reads of a request's body."""

    name: Name
    address: Address
    protocol: Literal["http"] = "http"
    filter_chains: Annotated[list[str], Field(min_length=1)]
    tls: ListenerTls | None = None
    max_connections: Annotated[int, Field(ge=1)] | None = None
    downstream_read_timeout_ms: Millis | None = None
    downstream_keepalive_timeout_ms: Millis | None = None

    @field_validator("address")
    @classmethod
    def _literal(cls, address: str) -> str:
        return _literal(address)


class FilterEntry(Strict):
    """One filter: its type, what is common to all, and its own options beside them."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    filter: str
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    conditions: list[Condition] = Field(default_factory=list)
    response_conditions: list[ReplyCondition] = Field(default_factory=list)
    failure_mode: Literal["open", "closed"] = "closed"

    @property
    def options(self) -> dict[str, Any]:
        return self.model_extra or {}


class FilterChain(Strict):
    name: Name
    filters: Annotated[list[FilterEntry], Field(min_length=1, max_length=100)]


class Endpoint(Strict):
    address: Address
    weight: Annotated[int, Field(ge=1, le=_MAX_WEIGHT)] = 1

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        return {"address": given} if isinstance(given, str) else given

    @field_validator("address")
    @classmethod
    def _reachable(cls, address: str) -> str:
        host, port = split_address(address)
        if not _HOST.fullmatch(host) or not port:
            raise ValueError(f"{address!r} is not a host and a port to connect to")
        return address


class ClusterCa(Strict):
    ca_path: FilePath


class ClientCert(Strict):
    cert_path: FilePath
    key_path: FilePath


class ClusterTls(Strict):
    """sni: also the name the certificate is checked against; needed unless verify is false."""

    sni: (
        Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$")] | None
    ) = None
    verify: bool = True
    ca: ClusterCa | None = None
    client_cert: ClientCert | None = None


class HealthCheck(Strict):
    """Thresholds are consecutive; the passive ones count answers of real requests. panic_threshold_percent:
    with fewer healthy endpoints than this, all are asked; 0 never. A hundred would ignore every check."""

    type: Literal["http", "tcp"]
    path: str = "/"
    expected_status: Annotated[int, Field(ge=100, le=599)] = 200
    interval_ms: Millis = 5000
    timeout_ms: Millis = 2000
    healthy_threshold: Annotated[int, Field(ge=1)] = 2
    unhealthy_threshold: Annotated[int, Field(ge=1)] = 3
    passive_unhealthy_threshold: Annotated[int, Field(ge=1)] | None = None
    passive_healthy_threshold: Annotated[int, Field(ge=1)] | None = None
    panic_threshold_percent: Annotated[int, Field(ge=0, le=99)] = 0

    @rule
    def _fits(self) -> None:
        if self.timeout_ms >= self.interval_ms:
            raise ValueError("timeout_ms must be shorter than interval_ms")


class Strategy(Strict):
    """By name alone, or `consistent_hash: {...}` with what is hashed: the `header`, the `client_address` (the
    forwarded one when a trusted proxy gave it), grid_route's `session`, or the `path`."""

    name: StrategyName = "round_robin"
    header: Annotated[str, Field(max_length=256, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")] | None = None
    key: Hashed | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given}
        if isinstance(given, dict) and "consistent_hash" in given:
            options = {} if given["consistent_hash"] is None else given["consistent_hash"]
            if len(given) > 1 or not isinstance(options, dict) or "name" in options:
                raise ValueError("consistent_hash takes {header: NAME} or {key: ...}, and nothing beside it")
            return {"name": "consistent_hash", **options}
        return given

    @rule
    def _agrees(self) -> None:
        if self.name != "consistent_hash" and (self.header is not None or self.key is not None):
            raise ValueError(f"{self.name} hashes nothing: header and key go with consistent_hash")
        if self.key == "header" and self.header is None:
            raise ValueError("key: header needs header")
        if self.key not in (None, "header") and self.header is not None:
            raise ValueError(f"key: {self.key} and header contradict each other")
        if self.header is not None and self.header.lower() in _NEVER_SEEN:
            raise ValueError(f"the field {self.header} cannot be hashed: it ends at the gateway")

    @property
    def hashes(self) -> Hashed:
        """What consistent_hash looks at."""
        return self.key or ("path" if self.header is None else "header")


class Cluster(Strict):
    """read_timeout_ms: between two reads of an answer; first_byte_timeout_ms: until its head."""

    name: Name
    endpoints: Annotated[list[Endpoint], Field(min_length=1, max_length=10_000)]
    load_balancer_strategy: Strategy = Strategy()
    connection_timeout_ms: Millis | None = None
    total_connection_timeout_ms: Millis | None = None
    first_byte_timeout_ms: Millis | None = None
    read_timeout_ms: Millis | None = None
    write_timeout_ms: Millis | None = None
    total_timeout_ms: Millis | None = None
    idle_timeout_ms: Millis | None = None
    max_connections: Annotated[int, Field(ge=1)] | None = None
    max_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    tls: ClusterTls | None = None
    health_check: HealthCheck | None = None
    host: str | None = None

    @field_validator("endpoints")
    @classmethod
    def _once(cls, endpoints: list[Endpoint]) -> list[Endpoint]:
        if len({e.address for e in endpoints}) != len(endpoints):
            raise ValueError("an endpoint stands twice")
        return endpoints

    @rule
    def _supported(self) -> None:
        if self.load_balancer_strategy.name == "consistent_hash" and len(self.endpoints) > _MAX_HASHED:
            raise ValueError(f"consistent_hash takes at most {_MAX_HASHED} endpoints")
        total, one = self.total_connection_timeout_ms, self.connection_timeout_ms
        if total is not None and one is not None and total < one:
            raise ValueError("total_connection_timeout_ms must be at least connection_timeout_ms")


class StatusEndpoint(Strict):
    """Where the operator reads `/status` and pins the leaf: over TLS with the site's own certificate."""

    address: Address
    tls: ListenerTls

    @field_validator("address")
    @classmethod
    def _literal(cls, address: str) -> str:
        return _literal(address)


class Admin(Strict):
    """address: loopback or a private one. readiness_address: `/readyz` alone, where a traffic manager reaches
    it. status: `/status` alone, for the grid's operator."""

    address: Address
    verbose: bool = False
    readiness_address: Address | None = None
    status: StatusEndpoint | None = None

    @field_validator("address", "readiness_address")
    @classmethod
    def _literal(cls, address: str | None) -> str | None:
        return None if address is None else _literal(address)


class BodyLimits(Strict):
    """max_request_bytes: the outermost bound. Answers are streamed and have none."""

    max_request_bytes: Annotated[int, Field(ge=0, le=1 << 30)] = 10 * 1024 * 1024


class Runtime(Strict):
    """threads: the engine has one loop; more than one worker is refused rather than ignored (0 and 1 are the
    same). max_connections: over all listeners. max_memory_bytes: resident; past it new requests get 503."""

    threads: Annotated[int, Field(ge=0, le=1)] = 0
    work_stealing: bool = True
    upstream_keepalive_pool_size: Annotated[int, Field(ge=1)] = 64
    max_connections: Annotated[int, Field(ge=1)] | None = None
    max_memory_bytes: Annotated[int, Field(ge=64 << 20)] | None = None
    max_open_files: Annotated[int, Field(ge=64)] | None = None
    shed_on_fd_pressure: bool = True
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class InsecureOptions(Strict):
    """Each one that is on is warned about at the start. allow_public_admin and allow_tls_without_sni lift a
    rule of ours; the others lift rules we do not have (or, for open security filters, never lift) and are
    read so that the reference's files load."""

    allow_root: bool = False
    allow_public_admin: bool = False
    allow_tls_without_sni: bool = False
    allow_private_health_checks: bool = False
    allow_private_endpoints: bool = False
    allow_private_upstreams: bool = False
    allow_open_security_filters: bool = False


class Gateway(Strict):
    """The whole file."""

    listeners: Annotated[list[Listener], Field(min_length=1, max_length=1000)]
    filter_chains: list[FilterChain] = Field(default_factory=list, max_length=1000)
    clusters: list[Cluster] = Field(default_factory=list, max_length=10_000)
    admin: Admin | None = None
    body_limits: BodyLimits = BodyLimits()
    runtime: Runtime = Runtime()
    shutdown_timeout_secs: Annotated[int, Field(ge=0, le=86_400)] = 30
    insecure_options: InsecureOptions = InsecureOptions()


def split_address(address: str) -> tuple[str, int]:
    """`host:port` or `[v6]:port` as (host, port). Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{address!r}: an IPv6 address needs brackets, as in [::1]:8080")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not host:port")
    return host, int(port)


def _literal(address: str) -> str:
    """*address*, when its host is an IP address. Raises ValueError."""
    host, _ = split_address(address)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ValueError(f"{host!r} is not an IP address; a listener takes no names") from None
    return address
