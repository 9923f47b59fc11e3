"""Where one operator process is and runs: its environment. What it should do is in the resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grid.contract.overlay import is_identifier
from grid.kube.lease import Terms
from grid.mesh.addresses import is_numeric, split
from grid.telemetry.admin import may_bind


class SettingsInvalid(Exception):
    """The environment does not make a process that could run."""


@dataclass(frozen=True, slots=True)
class GatewayService:
    """The Service before this site's own gateway, and the port of it that other sites use."""

    namespace: str
    name: str
    port: int


@dataclass(frozen=True, slots=True)
class MeshSettings:
    """Where membership is heard, and where it is to be answered; "" is where it is heard.

    gateway: None at a site that has none. pod: this process's own, "" outside a cluster.
    faults: whether tests may break it over the admin port.
    """

    host: str = "127.0.0.1"
    port: int = 7946
    advertise: str = ""
    gateway: GatewayService | None = None
    pod: str = ""
    faults: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """site: GRID_SITE, also the name in its certificate. tls: where tls.crt, tls.key and ca.crt are.

    lease: in seconds, of GRID_LEASE_S; its renewal and retry follow from it.
    """

    site: str
    namespace: str
    instance: str
    admin_host: str
    admin_port: int
    tls: Path
    lease: Terms
    reach_every_s: float
    mesh: MeshSettings = field(default_factory=MeshSettings)


def read_settings(env: Mapping[str, str], instance: str) -> Settings:
    """*instance*: what tells this process from other replicas. Raises SettingsInvalid."""
    site = env.get("GRID_SITE", "")
    if not is_identifier(site):
        raise SettingsInvalid("GRID_SITE must name this operator's site")
    host, _, port = env.get("GRID_ADMIN_ADDR", f"{env.get('POD_IP', '127.0.0.1')}:9090").rpartition(":")
    if not may_bind(host) or not port.isdigit():
        raise SettingsInvalid("GRID_ADMIN_ADDR must be a loopback or private address with a port")
    lease_s = _seconds(env, "GRID_LEASE_S", 15.0)
    return Settings(
        site=site,
        namespace=env.get("GRID_NAMESPACE", "grid-system"),
        instance=instance,
        admin_host=host,
        admin_port=int(port),
        tls=Path(env.get("GRID_TLS_DIR", "/etc/grid/site-tls")),
        lease=Terms(lease_s, lease_s * 2 / 3, lease_s / 6),
        reach_every_s=_seconds(env, "GRID_PROBE_EVERY_S", 2.0),
        mesh=_mesh(env),
    )


def _mesh(env: Mapping[str, str]) -> MeshSettings:
    bind = split(env.get("GRID_SWIM_BIND") or f"{env.get('POD_IP', '127.0.0.1')}:7946")
    if bind is None or not is_numeric(bind[0]):
        raise SettingsInvalid("GRID_SWIM_BIND must be an address of this machine with a port")
    advertise = env.get("GRID_SWIM_ADVERTISE", "")
    if advertise and split(advertise) is None:
        raise SettingsInvalid("GRID_SWIM_ADVERTISE must be a host with a port")
    gateway = _gateway_service(env.get("GRID_GATEWAY_SERVICE", ""))
    faults = env.get("GRID_TEST_FAULTS") == "1"
    return MeshSettings(*bind, advertise, gateway, env.get("POD_NAME", ""), faults)


def _gateway_service(text: str) -> GatewayService | None:
    if not text:
        return None
    namespace, _, rest = text.partition("/")
    place = split(rest)
    if not namespace or place is None:
        raise SettingsInvalid("GRID_GATEWAY_SERVICE must be namespace/name:port")
    return GatewayService(namespace, *place)


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    try:
        found = float(env.get(name, default))
    except ValueError:
        found = 0.0
    if not 0.05 <= found <= 3600:
        raise SettingsInvalid(f"{name} must be 0.05 to 3600 seconds")
    return found
