"""What is measured of a provider, each brought to 0..1 where 1 is best, and their weighted sum.

    locality 3.0 · queue depth 3.0 · KV cache 2.0 · prefix cache 2.0 · latency 2.0 · cost 1.0

What was not measured counts 0.5: neither a reason to go there nor one to stay away. Locality is the one
signal that depends on who asks; the other five are summed once a provider and shared by all gateways.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grid.contract.overlay import Tier

NEUTRAL = 0.5
# A P99 of five seconds is as slow as counts; a tenth of a dollar per 1,000 input tokens is as dear.
SLOWEST_MS = 5000.0
DEAREST_USD_PER_1K = 0.1


class Category(StrEnum):
    """Whose capacity it is: our own (local, remote) before a cloud's before a third party's API."""

    LOCAL = "local"
    REMOTE = "remote"
    CLOUD_MANAGED = "cloud_managed"
    API_PROVIDER = "api_provider"
    OTHER = "other"


_BY_TIER = {
    Tier.SAME_SITE: 1.0,
    Tier.SAME_ZONE: 0.9,
    Tier.SAME_REGION: 0.7,
    Tier.UNKNOWN: NEUTRAL,
    Tier.CROSS_REGION: 0.4,
}
LOCALITY: dict[Category, dict[Tier, float]] = {
    Category.LOCAL: _BY_TIER,
    Category.REMOTE: _BY_TIER,
    Category.CLOUD_MANAGED: dict.fromkeys(Tier, 0.2),
    Category.API_PROVIDER: dict.fromkeys(Tier, 0.1),
    Category.OTHER: dict.fromkeys(Tier, NEUTRAL),
}


@dataclass(frozen=True, slots=True)
class Signals:
    """One sample. queue, kv_cache: used share, 0..1. prefix_hit: hit share, 0..1. None: not measured.

    cost_usd_per_1k: per 1,000 input tokens; 0 is free, None unknown.
    """

    queue: float | None = None
    kv_cache: float | None = None
    prefix_hit: float | None = None
    p99_ms: float | None = None
    cost_usd_per_1k: float | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; all at least 0."""

    locality: float = 3.0
    queue_depth: float = 3.0
    kv_cache: float = 2.0
    prefix_cache: float = 2.0
    latency: float = 2.0
    cost: float = 1.0


_NOTHING = Weights(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
PRESETS: dict[str, Weights] = {
    "combined": Weights(),
    "noMetrics": _NOTHING,
    "queueDepth": Weights(0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    "kvCachePressure": Weights(0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Score:
    """Each signal's weighted contribution; `total` is their sum."""

    locality: float
    queue_depth: float
    kv_cache: float
    prefix_cache: float
    latency: float
    cost: float

    @property
    def total(self) -> float:
        return self.locality + self.queue_depth + self.kv_cache + self.prefix_cache + self.latency + self.cost


def score(signals: Signals, category: Category, tier: Tier, weights: Weights) -> Score:
    """The score with its parts, for one provider as one gateway sees it."""
    return Score(
        locality=weights.locality * LOCALITY[category][tier],
        queue_depth=weights.queue_depth * _free(signals.queue),
        kv_cache=weights.kv_cache * _free(signals.kv_cache),
        prefix_cache=weights.prefix_cache * _share(signals.prefix_hit),
        latency=weights.latency * _free(_ratio(signals.p99_ms, SLOWEST_MS)),
        cost=weights.cost * _free(_ratio(signals.cost_usd_per_1k, DEAREST_USD_PER_1K)),
    )


def score_anywhere(signals: Signals, weights: Weights) -> float:
    """The part of the score that is the same for every gateway: all but locality."""
    return (
        weights.queue_depth * _free(signals.queue)
        + weights.kv_cache * _free(signals.kv_cache)
        + weights.prefix_cache * _share(signals.prefix_hit)
        + weights.latency * _free(_ratio(signals.p99_ms, SLOWEST_MS))
        + weights.cost * _free(_ratio(signals.cost_usd_per_1k, DEAREST_USD_PER_1K))
    )


def _ratio(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole


def _free(used: float | None) -> float:
    return 1.0 - _share(used)


def _share(value: float | None) -> float:
    return NEUTRAL if value is None else min(1.0, max(0.0, value))
