"""Exchanges and setups for filters, by small functions with defaults; time stands still unless it is
moved."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edge.chain import Chain, Exchange, Filter, Reply, Request, Response, Step
from edge.metrics import EdgeMetrics
from edge.setup import Files, FilterType, Kept, Setup
from edge.sink import line
from edge.wire.faults import End
from edge.wire.pool import Cluster, Endpoint
from edge.wire.ports import Peer


@dataclass(slots=True)
class Clock:
    """Both clocks of a setup. at: monotonic seconds; wall is 1,000,000 more."""

    at: float = 1000.0

    def now(self) -> float:
        return self.at

    def wall(self) -> float:
        return self.at + 1_000_000


@dataclass(slots=True)
class Bench:
    """A setup whose parts a test can look at. lines: of the access log."""

    clock: Clock = field(default_factory=Clock)
    kept: Kept = field(default_factory=Kept)
    metrics: EdgeMetrics = field(default_factory=EdgeMetrics)
    lines: list[bytes] = field(default_factory=list)

    def setup(self, place: str = "main/filter#0", clusters: tuple[str, ...] = ("east", "west")) -> Setup:
        ids = itertools.count(1)
        return Setup(
            place,
            self.kept,
            Files(),
            self.metrics,
            {name: Cluster(name, [Endpoint("127.0.0.1", 1)]) for name in clusters},
            self.clock.now,
            self.clock.wall,
            lambda: f"id-{next(ids)}",
            lambda row: self.lines.append(line(row)),
        )

    def build(self, kind: FilterType, **options: Any) -> Filter:
        """A filter from its options as the file has them."""
        return kind.build(kind.config.model_validate(options), self.setup())

    def exchange(
        self,
        *filters: Filter,
        method: str = "POST",
        target: str = "/v1/chat/completions",
        host: str = "api.grid.test",
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        length: int | None = None,
        peer: Peer | None = None,
    ) -> Exchange:
        """A request before its head phase, with a chain of *filters*. length: the declared one."""
        request = Request()
        request.method = method.encode()
        request.target = target.encode()
        request.host = host.encode()
        request.fields = {name.lower().encode(): value.encode() for name, value in (fields or {}).items()}
        request.body = body
        request.declared_length = len(body) if length is None else length
        chain = Chain(Step(type(f).__name__, f) for f in filters)
        return Exchange(chain, request, peer or Peer("192.0.2.7", 4711), self.clock.now)


def answered(exchange: Exchange, status: int = 200, fields: Mapping[str, str] | None = None) -> Reply:
    """Runs the reply phase over an upstream's head."""
    reply = Reply(status, [(n.lower().encode(), v.encode()) for n, v in (fields or {}).items()])
    exchange.on_reply(reply)
    return reply


def ended(exchange: Exchange, end: End = End.COMPLETE, sent_bytes: int = 0) -> None:
    exchange.on_end(end, sent_bytes)


def status_of(response: object) -> int | None:
    """The status of a refusal, None when the request went on."""
    return response.status if isinstance(response, Response) else None


def field_of(exchange: Exchange, name: str) -> str | None:
    value = exchange.request.fields.get(name.encode())
    return None if value is None else value.decode()


def on_body(exchange: Exchange) -> Response | None:
    """Runs the body phase; None when no filter answered, whether or not a cluster was found."""
    found = exchange.on_body()
    if exchange.refusal == "no_route":
        exchange.refusal = None
        return None
    return found if isinstance(found, Response) else None
