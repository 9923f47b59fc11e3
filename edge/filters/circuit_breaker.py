"""Stops asking a cluster that keeps failing, and lets one request at a time find out whether it is back.

What the counts mean is `edge.wire.breaker`'s; here is who is asked about what. A failure is an answer of 500
or more, or none. A client that leaves says nothing about the cluster; neither does a pool of ours that is
full. Counts outlive a reload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Attempt, Exchange, Response, Traits, refuse
from edge.filters.options.circuit_breaker import Options
from edge.setup import Setup, Unusable
from edge.wire.breaker import Breaker, BreakerSettings, admit, forget_probe, record
from edge.wire.faults import Cause, RemoteFault

_STATE = ((b"x-circuit-state", b"open"),)


@dataclass(slots=True)
class Circuit:
    """One cluster's breaker as it is now."""

    breaker: Breaker = field(default_factory=Breaker)


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(reads=frozenset({"cluster"}))


@dataclass(frozen=True, slots=True)
class CircuitBreaker(_Kind):
    """asked: requests let through -> (the cluster, whether the request is its probe)."""

    rules: Mapping[str, BreakerSettings]
    circuits: Mapping[str, Circuit]
    now: Callable[[], float]
    asked: dict[Exchange, tuple[str, bool]] = field(default_factory=dict)

    @classmethod
    def build(cls, options: Options, setup: Setup) -> CircuitBreaker:
        for index, guarded in enumerate(options.clusters):
            if guarded.name not in setup.clusters:
                raise Unusable(f"no cluster {guarded.name!r}", "clusters", index, "name")
        circuits = {
            guarded.name: setup.kept.keep(f"{setup.place}/{guarded.name}", Circuit, Circuit)
            for guarded in options.clusters
        }
        return cls({guarded.name: guarded.settings for guarded in options.clusters}, circuits, setup.now)

    def on_body(self, exchange: Exchange) -> Response | None:
        """A route that has another cluster left goes there; only the last one's open circuit is an answer."""
        while True:
            name = exchange.cluster
            if name is None or name not in self.rules:
                return None
            wait_s = self._enter(exchange, name)
            if wait_s is None:
                return None
            if not _gave_way(exchange):
                return refuse(exchange, 503, "circuit_open", retry_after_s=wait_s, fields=_STATE)

    def _enter(self, exchange: Exchange, name: str) -> int | None:
        """None when the request may go there; else after how many seconds one may."""
        circuit = self.circuits[name]
        if circuit.breaker.opened_at is None:
            self.asked[exchange] = (name, False)
            return None
        admission = admit(circuit.breaker, self.rules[name], self.now())
        circuit.breaker = admission.after
        if not admission.allowed:
            return admission.retry_after_s
        self.asked[exchange] = (name, admission.probe)
        return None

    def on_end(self, exchange: Exchange) -> None:
        asked = self.asked.pop(exchange, None)
        if asked is None:
            return
        name, probe = asked
        circuit, ok = self.circuits[name], _verdict(exchange, name)
        if ok and not circuit.breaker.failures and circuit.breaker.opened_at is None:
            return
        if ok is not None:
            circuit.breaker = record(circuit.breaker, self.rules[name], self.now(), ok=ok, probe=probe)
        elif probe:
            circuit.breaker = forget_probe(circuit.breaker)


def _gave_way(exchange: Exchange) -> bool:
    """Whether the route chose another cluster instead."""
    failed = Attempt(exchange.cluster, exchange.candidate, Cause.NO_ENDPOINT)
    fault = RemoteFault(Cause.NO_ENDPOINT, unsent=True)
    if exchange.next_upstream is None or exchange.next_upstream(fault) is None:
        return False
    exchange.attempts = (*exchange.attempts, failed)
    return True


def _verdict(exchange: Exchange, cluster: str) -> bool | None:
    """Whether *cluster* did its work; None when it was not asked, or the client left before it could
    tell."""
    for attempt in exchange.attempts:
        if attempt.cluster == cluster:
            return None if attempt.cause is Cause.FULL else False
    if exchange.fault is not None:
        return None if exchange.fault.cause is Cause.FULL else False
    if exchange.refusal is not None or exchange.status is None:
        return None
    return exchange.status < 500
