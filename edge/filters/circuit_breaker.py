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
class Rule:
    """name: of the cluster. circuit: its breaker, which outlives this rule."""

    name: str
    settings: BreakerSettings
    circuit: Circuit


@dataclass(frozen=True, slots=True)
class CircuitBreaker(_Kind):
    """rules: by cluster. asked: requests let through -> the rule for where they went. probes: those of them
    that are to find out whether it is back."""

    rules: Mapping[str, Rule]
    now: Callable[[], float]
    asked: dict[Exchange, Rule] = field(default_factory=dict)
    probes: set[Exchange] = field(default_factory=set)

    @classmethod
    def build(cls, options: Options, setup: Setup) -> CircuitBreaker:
        for index, guarded in enumerate(options.clusters):
            if guarded.name not in setup.clusters:
                raise Unusable(f"no cluster {guarded.name!r}", "clusters", index, "name")
        rules = {
            guarded.name: Rule(
                guarded.name,
                guarded.settings,
                setup.kept.keep(f"{setup.place}/{guarded.name}", Circuit, Circuit),
            )
            for guarded in options.clusters
        }
        return cls(rules, setup.now)

    def on_body(self, exchange: Exchange) -> Response | None:
        """A route that has another cluster left goes there; only the last one's open circuit is an answer."""
        while True:
            rule = self.rules.get(exchange.cluster or "")
            if rule is None:
                return None
            if rule.circuit.breaker.opened_at is None:
                self.asked[exchange] = rule
                return None
            wait_s = self._enter(exchange, rule)
            if wait_s is None:
                return None
            if not _gave_way(exchange):
                return refuse(exchange, 503, "circuit_open", retry_after_s=wait_s, fields=_STATE)

    def _enter(self, exchange: Exchange, rule: Rule) -> int | None:
        """None when the request may go where the circuit is open; else after how many seconds one may."""
        admission = admit(rule.circuit.breaker, rule.settings, self.now())
        rule.circuit.breaker = admission.after
        if not admission.allowed:
            return admission.retry_after_s
        self.asked[exchange] = rule
        if admission.probe:
            self.probes.add(exchange)
        return None

    def on_end(self, exchange: Exchange) -> None:
        rule = self.asked.pop(exchange, None)
        if rule is None:
            return
        circuit, ok = rule.circuit, _verdict(exchange, rule.name)
        breaker = circuit.breaker
        probe = bool(self.probes) and exchange in self.probes
        if probe:
            self.probes.remove(exchange)
        if ok and not breaker.failures and breaker.opened_at is None:
            return
        if ok is not None:
            circuit.breaker = record(breaker, rule.settings, self.now(), ok=ok, probe=probe)
        elif probe:
            circuit.breaker = forget_probe(breaker)


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
    if exchange.attempts:
        for attempt in exchange.attempts:
            if attempt.cluster == cluster:
                return None if attempt.cause is Cause.FULL else False
    if exchange.fault is not None:
        return None if exchange.fault.cause is Cause.FULL else False
    if exchange.refusal is not None or exchange.status is None:
        return None
    return exchange.status < 500
