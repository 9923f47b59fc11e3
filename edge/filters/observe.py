"""Counts every request of a listener, how it ended and what its upstream did; put before every chain.

That a request is in progress is counted where it is opened, in `edge.service`; here it is counted out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Traits
from edge.metrics import METHODS, EdgeMetrics
from edge.usage import Tokens
from edge.wire.faults import TIMEOUTS, UNAVAILABLE, Cause, End, RemoteFault

_COMPLETE = End.COMPLETE  # on Python 3.11 a member of an Enum costs as much as a call
_CLASSES = tuple(f"{n}xx" for n in range(6))


@dataclass(frozen=True, slots=True)
class Series:
    """Where requests of one kind are counted: cells to add to, and histograms' own observers."""

    cluster: str
    requests: list[float]
    answers: list[float]
    duration: Callable[[float], None]
    first_byte: Callable[[float], None]
    stream: Callable[[float], None]
    first_token: Callable[[float], None]


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
        series = self.series.get(key) or self._series(*key)
        ended_at = exchange.ended_at or exchange.started_at
        series.requests[0] += 1
        series.duration(ended_at - exchange.started_at)
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
            series.answers[0] += 1
            series.first_byte(exchange.reply_at - exchange.started_at)
            series.stream(ended_at - exchange.reply_at)
            if exchange.first_event_at is not None:
                series.first_token(exchange.first_event_at - exchange.started_at)
            if exchange.tokens is not None:
                self._said(exchange.tokens, series.cluster)
        if exchange.end is not _COMPLETE and exchange.end in (End.CLIENT_GONE, End.CLIENT_STALLED):
            self.metrics.errors.add("downstream")

    def _said(self, tokens: Tokens, cluster: str) -> None:
        self.metrics.tokens.add(cluster, "prompt", by=tokens.prompt)
        self.metrics.tokens.add(cluster, "completion", by=tokens.completion)

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
            metrics.duration.cell(status_class, name),
            metrics.first_byte.cell(name),
            metrics.stream.cell(name),
            metrics.first_token.cell(name),
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
