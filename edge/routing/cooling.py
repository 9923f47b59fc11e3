"""Clusters that could not be reached a moment ago: the next request does not try the dead one first.

    failed -> left aside for COOL_S -> one request may try -> reached: as before | failed: left aside again

Health checks and Grid itself learn of a dead provider in their own time; this is for the requests between.
Nobody is left aside when nobody else is left: the caller then asks again without this.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Grid notices within 3 s; a provider that came back is used again almost at once.
COOL_S = 1.0


@dataclass(slots=True)
class Cooling:
    """until: cluster -> when one request may try it again, in seconds of a clock that does not go back. As
    many rows as clusters are configured; empty while all is well."""

    until: dict[str, float] = field(default_factory=dict)

    def failed(self, cluster: str, now: float) -> None:
        """No connection to it could be made."""
        self.until[cluster] = now + COOL_S

    def reached(self, cluster: str) -> None:
        """It answered."""
        self.until.pop(cluster, None)

    def chosen(self, cluster: str, now: float) -> None:
        """A request goes there. If that is the one which may try, those behind it wait for its outcome."""
        if cluster in self.until:
            self.until[cluster] = now + COOL_S

    def aside(self, now: float) -> frozenset[str]:
        """Clusters not to be tried now."""
        return frozenset(cluster for cluster, until in self.until.items() if now < until)
