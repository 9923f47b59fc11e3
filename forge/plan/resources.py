"""What each kind of resource needs to be made: settled values, nothing left to choose.

Paths are absolute, addresses chosen, names derived. A value that may hold a secret is a Secret,
which shows nothing of itself; only a host's last step before the engine calls `reveal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Secret:
    """A string that must not be seen: str, repr and formatting give `***`, equality works."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The string itself, for the engine's door alone."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))


@dataclass(frozen=True, slots=True)
class NetworkResource:
    """name: on the engine. subnet: CIDR; on the embedded runtime a block of loopback addresses.
    dynamic: the part of it from which the engine may hand out addresses itself; None: all of it."""

    name: str
    subnet: str
    dynamic: str | None = None


class PullPolicy(StrEnum):
    """When an image is fetched. NEVER: it is made here, and must be present."""

    MISSING = "missing"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class BuildRecipe:
    """How an image is built. context, file: absolute paths; file None: Containerfile or Dockerfile of
    the context. digest: of all that the build sees, so that a changed file is a difference."""

    context: str
    file: str | None = None
    args: Mapping[str, Secret] = field(default_factory=dict)
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ImageResource:
    """An image by reference.

    reference: as services name it. pull: when to fetch it. process: argv that stands for it on
    the embedded runtime; () runs the service's args as they are; None means there is no mapping.
    build: how it is made; None: it is pulled, or there.
    """

    reference: str
    pull: PullPolicy = PullPolicy.MISSING
    process: tuple[str, ...] | None = None
    build: BuildRecipe | None = None


class NetworkMode(StrEnum):
    """ENVIRONMENT: the lab network. HOST: the host's own. NONE: the engine's default network."""

    ENVIRONMENT = "environment"
    HOST = "host"
    NONE = "none"


class RestartPolicy(StrEnum):
    NO = "no"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"
    UNLESS_STOPPED = "unless-stopped"


@dataclass(frozen=True, slots=True)
class PortBinding:
    """bind: an IP address of the host (IPv4 or IPv6), 0.0.0.0 where the file names none. TCP."""

    bind: str
    host: int
    container: int


@dataclass(frozen=True, slots=True)
class Mount:
    """source: absolute path on this machine; made, as a directory, when create is True and it is
    missing. target: absolute path the program sees."""

    source: str
    target: str
    read_only: bool = False
    create: bool = False


class ProbeType(StrEnum):
    TCP = "tcp"
    HTTP = "http"
    EXEC = "exec"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """port: inside the service (tcp, http). path: for http, which wants a status of 200 to 399.
    command: for exec, which wants exit code 0. A service is unhealthy after `retries` failures in
    a row, counted once start_period_s has passed since its start."""

    type: ProbeType
    port: int = 0
    path: str = "/"
    command: tuple[str, ...] = ()
    interval_s: float = 1.0
    timeout_s: float = 1.0
    retries: int = 3
    start_period_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ServiceResource:
    """A standalone service.

    name: as in forge.yaml. container: its name on the engine. image: its reference. process: the
    argv that stands for the image on the embedded runtime (see ImageResource.process).
    network_name: None unless network is ENVIRONMENT. address: its own on the lab network, None on
    the host's or the default network of an engine; always set on the embedded runtime.
    inherit_host_group: the service's process also gets the group of the state directory.
    """

    name: str
    container: str
    image: str
    process: tuple[str, ...] | None = None
    pull: PullPolicy = PullPolicy.MISSING
    args: tuple[str, ...] = ()
    env: Mapping[str, Secret] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    ports: tuple[PortBinding, ...] = ()
    network: NetworkMode = NetworkMode.NONE
    network_name: str | None = None
    address: str | None = None
    restart: RestartPolicy = RestartPolicy.NO
    health: HealthCheck | None = None
    inherit_host_group: bool = False


Resource = NetworkResource | ImageResource | ServiceResource
