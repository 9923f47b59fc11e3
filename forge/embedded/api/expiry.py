"""Events are forgotten after an hour, as the real server's store does it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.printers import parse_time
from forge.embedded.api.values import Event, dig

LIFETIME = timedelta(hours=1)
_AGAIN_S = 300.0


@dataclass(slots=True)
class Sweeper:
    """Looks by itself every few minutes; no event wakes it."""

    cluster: Cluster
    name: str = "event-sweeper"
    settle_s: float = 0.0

    def wants(self, event: Event) -> bool:  # noqa: ARG002 - a controller is asked for each event
        return False

    def step(self) -> float | None:
        oldest = self.cluster.clock() - LIFETIME
        for record in self.cluster.store.records("events"):
            seen = dig(record.object, "series", "lastObservedTime") or record.object.get("lastTimestamp")
            at = parse_time(seen or dig(record.object, "metadata", "creationTimestamp"))
            made = parse_time(dig(record.object, "metadata", "creationTimestamp"))
            if at is not None and made is not None and max(at, made) < oldest:
                self.cluster.store.remove(record.key)
        return _AGAIN_S
