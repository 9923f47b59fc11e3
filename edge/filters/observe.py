"""Counts every request of a listener, how it ended and what its upstream did; put before every chain.

That a request is in progress is counted where it is opened, in `edge.service`; here it is counted out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Traits
from edge.metrics import METHODS, EdgeMetrics
from edge.usage import Tokens
from edge.wire.faults import TIMEOUTS, UNAVAILABLE, Cause, End, RemoteFault
from grid.telemetry.metrics import Tally

_COMPLETE = End.COMPLETE  # on Python 3.11 a member of an Enum costs as much as a call
_AT_ONCE = 64  # values of a histogram
_CLASSES = tuple(f"{n}xx" for n in range(6))


@dataclass(slots=True)
class Series:
    """Where requests of one kind are counted: cells to add to, and histograms' tallies. prompt,
    completion: cells of tokens, None until an answer has said any."""

    cluster: str
    requests: list[float]
    answers: list[float]
    duration: Tally
    first_byte: Tally
    stream: Tally
    first_token: Tally
    prompt: list[float] | None = None
    completion: list[float] | None = None

    def fold(self) -> None:
        """Counts what waits; that of other kinds of the same cluster too, as far as they share a tally."""
        self.duration.fold()
        self.first_byte.fold()
        self.stream.fold()
        self.first_token.fold()


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    traits: ClassVar[Traits] = Traits()


@dataclass(slots=True)
class Observe(_Kind):
    """series: (method, status, cluster) -> where such a request is counted, looked up once. active: the
    listener's requests in progress."""

    listener: str
    metrics: EdgeMetrics
    series: dict[tuple[bytes, int | None, str | None], Series] = field(default_factory=dict)
    active: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.active = self.metrics.active[self.listener,]

    def on_end(self, exchange: Exchange) -> None:
        self.active[0] -= 1
        key = (exchange.request.method, exchange.status, exchange.cluster)
        series = self.series.get(key)
        if series is None:
            series = self._series(*key)
        started_at, ended_at = exchange.started_at, exchange.ended_at
        if ended_at is None:
            ended_at = started_at
        series.requests[0] += 1
        durations = series.duration.values
        durations.append(ended_at - started_at)
        if len(durations) >= _AT_ONCE:
            series.fold()
        if exchange.attempts:
            self._moved(exchange)
        if exchange.fault is not None:
            self._failed(exchange.fault, series)
        elif exchange.refusal is not None:
            self.metrics.refusals.add(exchange.refusal)
            if exchange.refusal == "peer_not_trusted":
                self.metrics.trust_failures.add("peer")
            self.metrics.errors.add("internal" if exchange.refusal == "internal_error" else "filter_reject")
        elif exchange.upstream is not None and exchange.reply_at is not None:
            self._answered(exchange, series, exchange.reply_at, ended_at)
        if exchange.end is not _COMPLETE and exchange.end in (End.CLIENT_GONE, End.CLIENT_STALLED):
            self.metrics.errors.add("downstream")

    def _answered(self, exchange: Exchange, series: Series, reply_at: float, ended_at: float) -> None:
        """By an upstream, whatever it said."""
        series.answers[0] += 1
        series.first_byte.values.append(reply_at - exchange.started_at)
        series.stream.values.append(ended_at - reply_at)
        if exchange.first_event_at is not None:
            series.first_token.values.append(exchange.first_event_at - exchange.started_at)
        if exchange.tokens is not None:
            self._said(exchange.tokens, series)

    def _said(self, tokens: Tokens, series: Series) -> None:
        prompt, completion = series.prompt, series.completion
        if prompt is None or completion is None:
            prompt = series.prompt = self.metrics.tokens.cell(series.cluster, "prompt")
            completion = series.completion = self.metrics.tokens.cell(series.cluster, "completion")
        prompt[0] += tokens.prompt
        completion[0] += tokens.completion

    def _moved(self, exchange: Exchange) -> None:
        """Clusters that gave way before a byte had left: their failures, though the request may have ended
        well."""
        for attempt in exchange.attempts:
            cluster = attempt.cluster or "none"
            self.metrics.connect_failures.add(cluster, str(attempt.cause))
            if attempt.cause is Cause.TLS:
                self.metrics.trust_failures.add("upstream")

    def _failed(self, fault: RemoteFault, series: Series) -> None:
        self.metrics.upstream.add(series.cluster, "none")
        self.metrics.errors.add(_family(fault))
        if fault.unsent:
            self.metrics.connect_failures.add(series.cluster, str(fault.cause))
        if fault.cause is Cause.TLS:
            self.metrics.trust_failures.add("upstream")

    def _series(self, method: bytes, status: int | None, cluster: str | None) -> Series:
        """Bounded: methods are a client's to choose, so unknown ones share one place."""
        metrics, name = self.metrics, cluster or "none"
        text = method.decode("latin-1")
        status_class = "none" if status is None else _CLASSES[status // 100]
        made = Series(
            name,
            metrics.requests.cell(text, status_class, self.listener, name),
            metrics.upstream.cell(name, status_class),
            metrics.duration.tally(status_class, name),
            metrics.first_byte.tally(name),
            metrics.stream.tally(name),
            metrics.first_token.tally(name),
        )
        if text in METHODS:
            self.series[method, status, cluster] = made
        return made


def _family(fault: RemoteFault) -> str:
    if fault.cause in TIMEOUTS:
        return "timeout"
    if fault.cause is Cause.PROTOCOL:
        return "upstream_protocol"
    return "upstream_unavailable" if fault.cause in UNAVAILABLE or fault.unsent else "upstream_protocol"
