"""What the supervisor is to run, and how it stands: frozen values, and their form as JSON.

Values of an environment are in memory and on the socket alone: no repr shows them and no record
keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Restart(StrEnum):
    """When a process that ended is started again. UNLESS_STOPPED is ALWAYS here: what a user stopped
    stays stopped under both, since a supervisor that comes back starts nothing by itself."""

    NO = "no"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"
    UNLESS_STOPPED = "unless-stopped"


class Phase(StrEnum):
    """What a process is doing."""

    RUNNING = "running"
    STARTING = "starting"  # ended; its policy starts it again after the back-off
    COMPLETED = "completed"  # exited with 0 and is not to be restarted
    FAILED = "failed"  # exited otherwise and is not to be restarted
    STOPPED = "stopped"  # stopped on request
    BROKEN = "broken"  # never started, or its supervisor died


@dataclass(frozen=True, slots=True)
class Backoff:
    """The wait before the n-th restart in a row is first_s * 2**n, at most cap_s. A run of stable_s
    starts the row anew. (Docker: 100 ms doubling, reset after 10 s; kubelet: 10 s to 5 min.)"""

    first_s: float = 0.1
    cap_s: float = 10.0
    stable_s: float = 10.0


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Two files of max_bytes each are kept; a line over max_line is written as several.

    5 MB is a day of a chatty lab service; 64 KiB takes any sane JSON line whole (Docker cuts at 16).
    """

    max_bytes: int = 5 * 1024 * 1024
    max_line: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class Bind:
    """source: absolute path on this machine; made, as a directory, when create is True and it is
    missing. target: absolute path the program is told."""

    source: str
    target: str
    create: bool = False


@dataclass(frozen=True, slots=True)
class Publish:
    """A port of this machine passed on to the process's own. listen: IP addresses, one listener
    each, opened together. optional: those of them that may be missing from this machine."""

    port: int
    container: int
    listen: tuple[str, ...]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process to keep.

    name: unique within one supervisor. argv, env: as a container would get them; mount targets in
    them are rewritten. base: this machine's own part of the environment, below env and left as it is.
    root: the folder where mounts are materialised, the process's own. cwd: None
    for root. address: its own, where relays of its ports dial. grace_s: between SIGTERM and SIGKILL
    when the supervisor itself goes. groups: ids of groups to add. labels: the caller's, kept and
    given back, never read here.
    """

    name: str
    argv: tuple[str, ...]
    root: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    base: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    address: str | None = None
    mounts: tuple[Bind, ...] = ()
    publish: tuple[Publish, ...] = ()
    restart: Restart = Restart.NO
    backoff: Backoff = field(default_factory=Backoff)
    log: LogBounds = field(default_factory=LogBounds)
    grace_s: float = 10.0
    groups: tuple[int, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> ProcessSpec:
        """The spec that plain() gave. Raises KeyError, TypeError or ValueError on another shape."""
        own = dict(raw)
        own["argv"] = tuple(raw["argv"])
        own["mounts"] = tuple(Bind(**m) for m in raw["mounts"])
        own["publish"] = tuple(
            Publish(p["port"], p["container"], tuple(p["listen"]), tuple(p["optional"]))
            for p in raw["publish"]
        )
        own["restart"] = Restart(raw["restart"])
        own["backoff"] = Backoff(**raw["backoff"])
        own["log"] = LogBounds(**raw["log"])
        own["groups"] = tuple(raw["groups"])
        return cls(**own)


@dataclass(frozen=True, slots=True)
class Status:
    """How a process stands.

    id: of this instance of the name, never used again; its logs lie under it. run: number of
    starts. started_at, ended_at: Unix seconds of the last start and end. restarts: by its policy.
    exit_code: of the last run, 128 and the signal's number when a signal ended it. ticks: the
    kernel's start time of pid, in clock ticks since boot. detail: one line for people. ports: Forge's
    own listeners for it, (address, port).
    """

    id: str
    name: str
    phase: Phase
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    pid: int | None = None
    ticks: int | None = None
    run: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    restarts: int = 0
    exit_code: int | None = None
    detail: str = ""
    ports: tuple[tuple[str, int], ...] = ()

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Status:
        """The status that plain() gave. Raises KeyError, TypeError or ValueError on another shape."""
        own = dict(raw)
        own["phase"] = Phase(raw["phase"])
        own["ports"] = tuple((str(a), int(p)) for a, p in raw["ports"])
        return cls(**own)


def plain(value: ProcessSpec | Status) -> dict[str, Any]:
    """The value as JSON can hold it. A spec's environment is in it: for the socket alone."""
    return asdict(value)
