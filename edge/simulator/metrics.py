"""The simulator's metrics, under the names vLLM and llm-d's scheduler use, and plain gauges for what they
lack.

`praxis_sim_*` gauges are ratios and milliseconds a scraper can take as they are, without quantiles or rates.
"""

from __future__ import annotations

from collections import deque

from edge.simulator.load import Load
from edge.simulator.settings import Settings
from grid.telemetry.metrics import Label, Metrics, Reading

_RECENT = 512  # requests behind the p99 and error gauges: enough to rank, short enough to move in a minute


class SimMetrics:
    """What is counted, and the gauges read from *load* at the scrape."""

    def __init__(self, settings: Settings, load: Load) -> None:
        self.metrics = made = Metrics()
        model = Label("model_name", set(settings.models))
        reason = Label("finished_reason", {"stop", "length", "abort"})
        self._settings, self._load = settings, load
        self._latencies: deque[float] = deque(maxlen=_RECENT)
        self._failures: deque[bool] = deque(maxlen=_RECENT)

        self.prompt_tokens = made.counter("vllm:prompt_tokens_total", "Prompt tokens processed.", model)
        self.generated = made.counter("vllm:generation_tokens_total", "Tokens generated.", model)
        self.finished = made.counter("vllm:request_success_total", "Requests finished.", model, reason)
        self.first_token = made.histogram("vllm:time_to_first_token_seconds", "To the first token.", model)
        self.inter_token = made.histogram("vllm:inter_token_latency_seconds", "Between two tokens.", model)
        self.queued = made.histogram("vllm:request_queue_time_seconds", "Spent waiting.", model)
        self.whole = made.histogram("vllm:e2e_request_latency_seconds", "Of a whole request.", model)

        def gauge(name: str, help_: str, read: Reading, *labels: Label) -> None:
            made.gauge(name, help_, *labels, read=read)

        def own(value: float) -> Reading:
            return lambda: {(name,): value for name in settings.models[:1]}

        first, pool = settings.models[0], Label("name", {settings.pool})
        gauge("vllm:num_requests_running", "Running.", lambda: {(first,): load.running}, model)
        gauge("vllm:num_requests_waiting", "Waiting.", lambda: {(first,): load.waiting}, model)
        gauge("vllm:kv_cache_usage_perc", "KV cache in use, 0..1.", lambda: {(first,): load.kv}, model)
        gauge("vllm:gpu_cache_usage_perc", "Older name of the same.", lambda: {(first,): load.kv}, model)
        gauge("vllm:prefix_cache_queries", "Tokens looked up.", lambda: {(first,): load.queries}, model)
        gauge("vllm:prefix_cache_hits", "Tokens found.", lambda: {(first,): load.hits}, model)
        gauge("vllm:cache_config_num_blocks", "Blocks of the KV cache.", own(settings.kv_blocks), model)
        for prefix, ready in (("llm_d_router_epp", "ready_endpoints"), ("inference_pool", "ready_pods")):
            gauge(f"{prefix}_average_queue_size", "Waiting.", lambda: {(settings.pool,): load.waiting}, pool)
            gauge(
                f"{prefix}_average_kv_cache_utilization",
                "KV in use.",
                lambda: {(settings.pool,): load.kv},
                pool,
            )
            gauge(f"{prefix}_{ready}", "Endpoints that serve.", lambda: {(settings.pool,): 1.0}, pool)
        gauge("praxis_sim_queue_ratio", "Waiting, of the room there is.", lambda: {(): self._queue()})
        gauge("praxis_sim_kv_ratio", "KV cache in use.", lambda: {(): load.kv})
        gauge("praxis_sim_prefix_hit_ratio", "Prompt tokens found cached.", lambda: {(): self._hit_ratio()})
        gauge("praxis_sim_latency_p99_milliseconds", "Recent requests.", lambda: {(): self._p99_ms()})
        gauge("praxis_sim_error_ratio", "Recent requests.", lambda: {(): self._error_ratio()})

    def ended(self, seconds: float, *, failed: bool) -> None:
        """One request is over: its whole time, and whether the answer was an error of ours."""
        self._latencies.append(seconds)
        self._failures.append(failed)

    def _queue(self) -> float:
        return min(1.0, self._load.waiting / self._settings.waiting) if self._settings.waiting else 0.0

    def _hit_ratio(self) -> float:
        return self._load.hits / self._load.queries if self._load.queries else 0.0

    def _p99_ms(self) -> float:
        recent = sorted(self._latencies)
        return recent[min(len(recent) - 1, int(len(recent) * 0.99))] * 1000 if recent else 0.0

    def _error_ratio(self) -> float:
        return sum(self._failures) / len(self._failures) if self._failures else 0.0
