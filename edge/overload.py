"""Whether the process can still afford a new request: memory, file descriptors, connections.

Looked at a few times a second; a request only reads the verdict. What is refused here is refused so that what
is in progress can end.
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from edge.config.model import Runtime

_OPEN = "/proc/self/fd"
_FD_RESERVE = 32  # for key files, the admin server and the log, whatever else happens


@dataclass(frozen=True, slots=True)
class Load:
    """memory: resident bytes. descriptors: open ones. connections: of clients, on all listeners."""

    memory: int
    descriptors: int
    connections: int


@dataclass(frozen=True, slots=True)
class Ceilings:
    """None where there is none."""

    memory: int | None
    descriptors: int | None
    connections: int | None


def ceilings(runtime: Runtime) -> Ceilings:
    """As configured; descriptors by what the system allows the process."""
    allowed = runtime.max_open_files or resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    descriptors = (
        max(1, min(int(allowed * 0.95), allowed - _FD_RESERVE)) if runtime.shed_on_fd_pressure else None
    )
    return Ceilings(runtime.max_memory_bytes, descriptors, runtime.max_connections)


def verdict(load: Load, most: Ceilings) -> str | None:
    """The reason to refuse new requests, in the metric's words; None when there is none."""
    if most.memory is not None and load.memory > most.memory:
        return "memory"
    if most.descriptors is not None and load.descriptors > most.descriptors:
        return "file_descriptors"
    if most.connections is not None and load.connections > most.connections:
        return "global_connections"
    return None


def measure(connections: int) -> Load:
    """The process as Linux sees it; zeros where it cannot be seen."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        descriptors = _descriptors()
    except OSError:
        return Load(0, 0, connections)
    return Load(pages * resource.getpagesize(), descriptors, connections)


def _descriptors() -> int:
    """How many are open. Linux 6.2 and later tell the number as the folder's size; counting them holds every
    stream up for 10 ms where 10,000 are open."""
    counted = os.stat(_OPEN).st_size  # noqa: PTH116 - asked four times a second
    return counted or len(os.listdir(_OPEN))  # noqa: PTH208 - half the cost of iterdir
