"""A Prometheus exposition to signals: known engines' names built in, a resource's own names before them.

    queue     a ratio as it is; a count only by `queueCapacity`, since a count says nothing without it
    kv cache, prefix hits   ratios, or hits over lookups
    errors, health          gauges
    p99                     a gauge, or a histogram, whose buckets are handed on: a quantile needs two scrapes

Only lines that begin with a name that is looked for are parsed, by the library's parser; the rest of a large
exposition costs a scan. A value that is no number, or negative, is as good as none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client.parser import text_string_to_metric_families

from grid.crd.provider import MetricsConfig
from grid.reconcile.latency import Buckets, cumulative
from grid.scoring.signals import Signals

# vLLM's own is about 60 KiB; ten times that is a busy one.
MAX_BYTES = 1024 * 1024
# Lines of the names looked for: a series a model or pod.
MAX_SERIES = 2_000

_QUEUE_RATIOS = ("praxis_sim_queue_ratio",)
_QUEUE_COUNTS = (
    "llm_d_epp_average_queue_size",
    "llm_d_router_epp_average_queue_size",
    "inference_pool_average_queue_size",
    "vllm:num_requests_waiting",
)
_KV = (
    "llm_d_epp_average_kv_cache_utilization",
    "llm_d_router_epp_average_kv_cache_utilization",
    "inference_pool_average_kv_cache_utilization",
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
)
_PREFIX_RATIOS = ("praxis_sim_prefix_hit_ratio", "vllm:gpu_prefix_cache_hit_rate")
_PREFIX_COUNTS = (
    ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"),
    ("vllm:prefix_cache_hits", "vllm:prefix_cache_queries"),
)
_P99_MS = ("praxis_sim_latency_p99_milliseconds",)
# Whole requests, the pool's before an engine's; the older names of one are written beside its newer one.
_DURATIONS = (
    "llm_d_epp_request_duration_seconds",
    "llm_d_router_epp_request_duration_seconds",
    "inference_objective_request_duration_seconds",
    "inference_model_request_duration_seconds",
    "vllm:e2e_request_latency_seconds",
)
_ERRORS = ("praxis_sim_error_ratio",)
_READY = ("llm_d_epp_ready_endpoints", "llm_d_router_epp_ready_endpoints", "inference_pool_ready_pods")
_BUILT_IN = (
    *_QUEUE_RATIOS,
    *_QUEUE_COUNTS,
    *_KV,
    *_PREFIX_RATIOS,
    *(name for pair in _PREFIX_COUNTS for name in pair),
    *_P99_MS,
    *_ERRORS,
    *_READY,
)


class ScrapeReason(StrEnum):
    """Why an answer gave no reading; a closed set, for metrics and conditions."""

    REFUSED = "refused"
    OVERSIZED = "oversized"
    MALFORMED = "malformed"
    POOL_MISSING = "pool_missing"


class ScrapeRejected(Exception):
    """An answer is no exposition one can use; the last reading stands until it is stale."""

    def __init__(self, reason: ScrapeReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Scraped:
    """signals: without the cost, which is not measured. healthy: None if it does not say.

    buckets: of request durations in milliseconds, where no gauge says the P99; empty if there are none.
    sampled_at: when the newest of it was measured, where the exposition says so; Unix seconds.
    """

    signals: Signals
    healthy: bool | None = None
    buckets: Buckets = ()
    sampled_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Sample:
    """at: Unix seconds, None if it does not say."""

    name: str
    labels: Mapping[str, str]
    value: float
    at: float | None


_Values = Mapping[str, tuple[float, ...]]


def read_exposition(data: bytes, config: MetricsConfig) -> Scraped:
    """The signals in *data*. Raises ScrapeRejected."""
    if len(data) > MAX_BYTES:
        raise ScrapeRejected(ScrapeReason.OVERSIZED)
    own = config.signal_names
    names = (
        own.queue_depth,
        own.kv_cache_utilization,
        own.prefix_cache_hit_ratio,
        own.latency_p99_ms,
        own.error_rate,
        own.healthy,
    )
    try:
        text = data.decode()
        samples = list(_samples(text, {*_BUILT_IN, *filter(None, names)}))
        p99_ms = _first(_values(samples, config.pool_name), own.latency_p99_ms, _P99_MS)
        counted = () if p99_ms is not None else _durations(text, own.latency_p99_ms, config.pool_name)
    except (ValueError, IndexError, KeyError):
        # What the library's parser raises for lines that are no samples; UnicodeError is a ValueError.
        raise ScrapeRejected(ScrapeReason.MALFORMED) from None
    if config.pool_name is not None and all(each.labels.get("name") != config.pool_name for each in samples):
        raise ScrapeRejected(ScrapeReason.POOL_MISSING)
    values = _values(samples, config.pool_name)
    signals = Signals(
        queue=_queue(values, config),
        kv_cache=_first(values, own.kv_cache_utilization, _KV),
        prefix_hit=_prefix(values, own.prefix_cache_hit_ratio),
        p99_ms=p99_ms,
    )
    stamps = [each.at for each in samples if each.at is not None]
    return Scraped(signals, _healthy(values, config), counted, max(stamps, default=None))


def _values(samples: Iterable[_Sample], pool: str | None) -> _Values:
    """Sound values by name; of a pool, its series only."""
    found: dict[str, list[float]] = {}
    for each in samples:
        if math.isfinite(each.value) and each.value >= 0 and pool in {None, each.labels.get("name")}:
            found.setdefault(each.name, []).append(each.value)
    return {name: tuple(values) for name, values in found.items()}


def _durations(text: str, own: str | None, pool: str | None) -> Buckets:
    """The first histogram there is, all its series as one, in milliseconds; the resource's own alone.

    Engines and pickers put no pool's name on it: a series that has none is the pool's.
    """
    for name in (own,) if own else _DURATIONS:
        to_ms = 1000.0 if name.endswith("_seconds") else 1.0
        found = cumulative(
            (float(each.labels["le"]) * to_ms, each.value)
            for each in _samples(text, {f"{name}_bucket"})
            if pool is None or each.labels.get("name", pool) == pool
            if math.isfinite(each.value) and each.value >= 0
        )
        if found:
            return found
    return ()


def _samples(text: str, names: Iterable[str]) -> Iterator[_Sample]:
    wanted = re.compile(rf"^(?:{'|'.join(map(re.escape, sorted(names)))})[ \t{{][^\n]*$", re.MULTILINE)
    lines = [found.group() for found, _ in zip(wanted.finditer(text), range(MAX_SERIES), strict=False)]
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            at = None if sample.timestamp is None else float(sample.timestamp)
            yield _Sample(sample.name, sample.labels, float(sample.value), at)


def _first(
    values: _Values, own: str | None, built_in: Iterable[str], take: Callable[[Iterable[float]], float] = max
) -> float | None:
    """The first name that has values; the resource's own alone, if it gives one. Of many series the worst."""
    for name in (own,) if own else built_in:
        if name in values:
            return take(values[name])
    return None


def _queue(values: _Values, config: MetricsConfig) -> float | None:
    own, capacity = config.signal_names.queue_depth, config.queue_capacity
    if own is None:
        ratio = _first(values, None, _QUEUE_RATIOS)
        if ratio is not None:
            return ratio
    elif capacity is None:
        return _first(values, own, ())
    count = _first(values, own, _QUEUE_COUNTS, sum)
    return None if count is None or capacity is None else count / capacity


def _prefix(values: _Values, own: str | None) -> float | None:
    ratio = _first(values, own, _PREFIX_RATIOS)
    if ratio is not None or own is not None:
        return ratio
    for hits, lookups in _PREFIX_COUNTS:
        if hits in values and sum(values.get(lookups, ())) > 0:
            return sum(values[hits]) / sum(values[lookups])
    return None


def _healthy(values: _Values, config: MetricsConfig) -> bool | None:
    """A gauge that says so, else whether anything is ready behind it, else whether all requests fail."""
    own = config.signal_names
    for name, built_in in ((own.healthy, ()), (None, _READY)):
        found = _first(values, name, built_in)
        if found is not None:
            return found > 0
    errors = _first(values, own.error_rate, _ERRORS)
    return None if errors is None else errors < 1.0
