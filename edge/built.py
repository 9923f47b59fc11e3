"""What the server takes into use: one whole configuration, live; and what is the same for all of them in a
process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from edge.chain import Chain
from edge.clusters import Live
from edge.config.load import Loaded
from edge.metrics import EdgeMetrics
from edge.setup import Kept
from edge.sink import Access
from edge.tls import ListenerTls


@dataclass(frozen=True, slots=True)
class Outside:
    """What is the same for every configuration of one process, handed down from main.

    now: monotonic seconds, wall: unix seconds, new_id: an id nobody had before, access: takes what a
    line of the access log is made of.
    """

    now: Callable[[], float]
    wall: Callable[[], float]
    new_id: Callable[[], str]
    access: Access
    kept: Kept = field(default_factory=Kept)
    metrics: EdgeMetrics = field(default_factory=EdgeMetrics)


@dataclass(frozen=True, slots=True)
class Built:
    """chains, tls: by listener name. clusters: by name. files: all that was read. digest: of their
    contents. status_tls: of the admin's status endpoint, where there is one."""

    loaded: Loaded
    chains: dict[str, Chain]
    clusters: dict[str, Live]
    tls: dict[str, ListenerTls]
    files: frozenset[Path]
    digest: str
    status_tls: ListenerTls | None = None


def digest(files: frozenset[Path]) -> str:
    """Of all contents; a file that cannot be read counts as empty."""
    whole = sha256()
    for path in sorted(files):
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        whole.update(b"%d:%b=%d:" % (len(str(path)), str(path).encode(), len(content)) + content)
    return whole.hexdigest()
