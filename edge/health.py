"""Whether an endpoint is healthy, as a plain value: consecutive observations, never a single one.

Active probes and real requests feed the same value; only how many in a row it takes may differ. What is done
with it is the pool's: unhealthy endpoints are not asked, unless the cluster has a panic threshold. Without
one, a cluster whose endpoints are all unhealthy answers 503, and an edge then tries the next candidate.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """to_unhealthy, to_healthy: observations in a row that change the state; None never does."""

    to_unhealthy: int | None = 3
    to_healthy: int | None = 2


@dataclass(frozen=True, slots=True)
class Health:
    """against: observations in a row that speak against the present state."""

    healthy: bool = True
    against: int = 0


def observe(health: Health, ok: bool, thresholds: Thresholds) -> Health:
    """The health after one more observation."""
    if ok == health.healthy:
        return Health(health.healthy)
    against = health.against + 1
    needed = thresholds.to_healthy if ok else thresholds.to_unhealthy
    if needed is not None and against >= needed:
        return Health(ok)
    return Health(health.healthy, against)
