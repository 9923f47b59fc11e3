"""Known engines are read without configuration, own names before them, lies and noise are as good as nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.crd.provider import MetricsConfig
from grid.reconcile.exposition import MAX_BYTES, ScrapeReason, ScrapeRejected, read_exposition
from grid.scoring.signals import Signals

SHARED = Path(__file__).parents[4] / "shared" / "data" / "prometheus"

VLLM = """\
# HELP vllm:num_requests_waiting Waiting.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="a b, c}"} 3
vllm:num_requests_waiting{model_name="d"} 1
vllm:kv_cache_usage_perc{model_name="d"} 0.25
vllm:prefix_cache_queries_total{model_name="d"} 200
vllm:prefix_cache_hits_total{model_name="d"} 50
vllm:e2e_request_latency_seconds_bucket{model_name="a b, c}",le="0.3"} 5
vllm:e2e_request_latency_seconds_bucket{model_name="a b, c}",le="+Inf"} 6
vllm:e2e_request_latency_seconds_bucket{model_name="d",le="0.3"} 1
vllm:e2e_request_latency_seconds_bucket{model_name="d",le="+Inf"} 1
vllm:e2e_request_latency_seconds_count{model_name="d"} 1
"""
SIMULATOR = """\
praxis_sim_queue_ratio 0.5
praxis_sim_prefix_hit_ratio 0.125
praxis_sim_latency_p99_milliseconds 40
praxis_sim_error_ratio 0.01
vllm:num_requests_waiting 8
vllm:kv_cache_usage_perc 0.75
vllm:gpu_cache_usage_perc 0.1
"""
EPP = """\
llm_d_router_epp_average_queue_size{name="pool-a"} 3.5
llm_d_router_epp_average_queue_size{name="pool-b"} 9
llm_d_router_epp_ready_endpoints{name="pool-a"} 0
llm_d_router_epp_ready_endpoints{name="pool-b"} 2
inference_objective_request_duration_seconds_bucket{model_name="m",le="1.0"} 3
inference_objective_request_duration_seconds_bucket{model_name="m",le="+Inf"} 4
"""
NEWEST_EPP = """\
llm_d_epp_average_queue_size{name="pool-a"} 2
llm_d_epp_average_kv_cache_utilization{name="pool-a"} 0.5
llm_d_epp_ready_endpoints{name="pool-a"} 1
inference_pool_average_queue_size{name="pool-a"} 2
"""


def config(**fields: Any) -> MetricsConfig:
    return MetricsConfig.model_validate(fields)


@pytest.mark.parametrize(
    ("text", "fields", "signals", "healthy"),
    [
        pytest.param(VLLM, {"queueCapacity": 8}, Signals(0.5, 0.25, 0.25), None, id="vLLM"),
        pytest.param(VLLM, {}, Signals(None, 0.25, 0.25), None, id="a count without capacity says nothing"),
        pytest.param(SIMULATOR, {}, Signals(0.5, 0.75, 0.125, 40.0), True, id="the simulator, by its ratios"),
        pytest.param(
            EPP, {"queueCapacity": 7, "poolName": "pool-a"}, Signals(0.5), False, id="one pool, not ready"
        ),
        pytest.param(
            EPP, {"queueCapacity": 18, "poolName": "pool-b"}, Signals(0.5), True, id="one pool, ready"
        ),
        pytest.param(
            NEWEST_EPP, {"queueCapacity": 4}, Signals(0.5, 0.5), True, id="a picker by its newest names"
        ),
        pytest.param("", {}, Signals(), None, id="nothing"),
        pytest.param("other_metric 1\n", {}, Signals(), None, id="nothing that is looked for"),
        pytest.param(
            "mine 0.3\npraxis_sim_queue_ratio 0.9\n",
            {"signalNames": {"queueDepth": "mine"}},
            Signals(0.3),
            None,
            id="an own name, as a ratio",
        ),
        pytest.param(
            "mine 3\n",
            {"signalNames": {"queueDepth": "mine"}, "queueCapacity": 6},
            Signals(0.5),
            None,
            id="an own name, as a count",
        ),
        pytest.param(
            "praxis_sim_queue_ratio 0.9\n",
            {"signalNames": {"queueDepth": "mine"}},
            Signals(),
            None,
            id="an own name that is not there is missing, whatever else is",
        ),
        pytest.param(
            "p 0.5\nl 100\nk 0.2\ne 1\n",
            {
                "signalNames": {
                    "prefixCacheHitRatio": "p",
                    "latencyP99Ms": "l",
                    "kvCacheUtilization": "k",
                    "errorRate": "e",
                }
            },
            Signals(None, 0.2, 0.5, 100.0),
            False,
            id="all requests fail",
        ),
        pytest.param(
            "h 1\ne 1\n",
            {"signalNames": {"healthy": "h", "errorRate": "e"}},
            Signals(),
            True,
            id="it says so",
        ),
        pytest.param("h 0\n", {"signalNames": {"healthy": "h"}}, Signals(), False, id="it says it is not"),
        pytest.param(
            "vllm:kv_cache_usage_perc NaN\nvllm:gpu_cache_usage_perc +Inf\n",
            {},
            Signals(),
            None,
            id="no numbers",
        ),
        pytest.param("vllm:kv_cache_usage_perc -1\n", {}, Signals(), None, id="a negative one"),
        pytest.param(
            "vllm:kv_cache_usage_perc 0.5 1700000000000\n", {}, Signals(None, 0.5), None, id="a time stamp"
        ),
        pytest.param(
            'vllm:kv_cache_usage_perc{m="a"} 0.1\nvllm:kv_cache_usage_perc{m="b"} 0.9\n',
            {},
            Signals(None, 0.9),
            None,
            id="of two series the fuller",
        ),
        pytest.param(
            "vllm:prefix_cache_hits 0\nvllm:prefix_cache_queries 0\n",
            {},
            Signals(),
            None,
            id="no lookups yet",
        ),
        pytest.param(
            "broken{ x\nvllm:kv_cache_usage_perc 0.5\n", {}, Signals(None, 0.5), None, id="noise elsewhere"
        ),
        pytest.param(
            "vllm:kv_cache_usage_percent 0.5\n", {}, Signals(), None, id="a name that only begins alike"
        ),
        pytest.param(
            "vllm:kv_cache_usage_perc 0.5", {}, Signals(None, 0.5), None, id="no line feed at the end"
        ),
    ],
)
def test_signals(text: str, fields: dict[str, Any], signals: Signals, healthy: bool | None) -> None:
    found = read_exposition(text.encode(), config(**fields))
    assert (found.signals, found.healthy) == (signals, healthy)


INF = float("inf")
OWN = {"signalNames": {"latencyP99Ms": "mine"}}


@pytest.mark.parametrize(
    ("text", "fields", "buckets"),
    [
        pytest.param(VLLM, {}, ((300.0, 6.0), (INF, 7.0)), id="vLLM: all its models, in milliseconds"),
        pytest.param(
            EPP, {"poolName": "pool-a"}, ((1000.0, 3.0), (INF, 4.0)), id="a picker: it names no pool on it"
        ),
        pytest.param(
            'vllm:e2e_request_latency_seconds_bucket{name="b",le="+Inf"} 1\npraxis_sim_queue_ratio{name="a"} 0\n',
            {"poolName": "a"},
            (),
            id="another pool's",
        ),
        pytest.param(SIMULATOR + VLLM, {}, (), id="a gauge that says it comes first"),
        pytest.param(
            'mine_bucket{le="40"} 1\nmine_bucket{le="+Inf"} 2\n' + VLLM,
            OWN,
            ((40.0, 1.0), (INF, 2.0)),
            id="an own name, in the field's milliseconds",
        ),
        pytest.param(
            'mine_seconds_bucket{le="0.5"} 1\nmine_seconds_bucket{le="+Inf"} 2\n',
            {"signalNames": {"latencyP99Ms": "mine_seconds"}},
            ((500.0, 1.0), (INF, 2.0)),
            id="an own name that says seconds",
        ),
        pytest.param(VLLM, OWN, (), id="an own name that is not there is missing"),
        pytest.param(
            'vllm:e2e_request_latency_seconds_bucket{le="0.3"} 5\n', {}, (), id="a histogram without an end"
        ),
        pytest.param(
            'vllm:e2e_request_latency_seconds_bucket{le="1"} NaN\nvllm:e2e_request_latency_seconds_bucket{le="+Inf"} -4\n',
            {},
            (),
            id="counts that are none",
        ),
    ],
)
def test_durations(text: str, fields: dict[str, Any], buckets: tuple[tuple[float, float], ...]) -> None:
    assert read_exposition(text.encode(), config(**fields)).buckets == buckets


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("vllm:kv_cache_usage_perc 0.5\n", None, id="it does not say"),
        pytest.param(
            "vllm:kv_cache_usage_perc 0.5 1700000000500\npraxis_sim_queue_ratio 0 1700000000000\n",
            1_700_000_000.5,
            id="the newest counts",
        ),
        pytest.param("other 1 1700000000000\n", None, id="what is not looked at says nothing"),
    ],
)
def test_when_it_was_measured(text: str, at: float | None) -> None:
    assert read_exposition(text.encode(), config()).sampled_at == at


@pytest.mark.parametrize(
    ("data", "fields", "reason"),
    [
        pytest.param(b"x" * (MAX_BYTES + 1), {}, ScrapeReason.OVERSIZED, id="too long"),
        pytest.param(b"\xff", {}, ScrapeReason.MALFORMED, id="not UTF-8"),
        pytest.param(
            b"vllm:kv_cache_usage_perc many\n", {}, ScrapeReason.MALFORMED, id="a word for a number"
        ),
        pytest.param(
            b'vllm:kv_cache_usage_perc{a="b" 1\n', {}, ScrapeReason.MALFORMED, id="labels without end"
        ),
        pytest.param(
            b'vllm:e2e_request_latency_seconds_bucket{le="slow"} 1\n',
            {},
            ScrapeReason.MALFORMED,
            id="a bound that is none",
        ),
        pytest.param(
            b"vllm:e2e_request_latency_seconds_bucket 1\n",
            {},
            ScrapeReason.MALFORMED,
            id="a bucket without a bound",
        ),
        pytest.param(EPP.encode(), {"poolName": "pool-c"}, ScrapeReason.POOL_MISSING, id="another pool"),
    ],
)
def test_what_is_no_exposition_is_refused(data: bytes, fields: dict[str, Any], reason: ScrapeReason) -> None:
    with pytest.raises(ScrapeRejected) as refused:
        read_exposition(data, config(**fields))
    assert refused.value.reason is reason


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.sampled_from(["", "{", " ", '{a="', '{a="b"} ']),
)
def test_any_line_is_a_signal_or_refused(rest: str, start: str) -> None:
    try:
        found = read_exposition(f"vllm:kv_cache_usage_perc{start}{rest}".encode(), config())
    except ScrapeRejected:
        return
    assert found.signals.kv_cache is None or found.signals.kv_cache >= 0


@given(st.binary(max_size=200))
def test_any_bytes_are_signals_or_refused(data: bytes) -> None:
    try:
        read_exposition(data, config())
    except ScrapeRejected:
        return


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="../shared/data/prometheus is not here")
def test_published_expositions_are_read() -> None:
    epp = read_exposition((SHARED / "llmd-epp.prom").read_bytes(), config(poolName="pool-a", queueCapacity=7))
    assert (epp.signals, epp.healthy) == (Signals(0.5, 0.25), True)
    own = config(signalNames={"queueDepth": "grid_demo_queue_depth"})
    assert read_exposition((SHARED / "mock-openai.prom").read_bytes(), own).signals == Signals(0.1)
