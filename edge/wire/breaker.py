"""A circuit breaker as a plain value: closed, open for a while, then one request at a time to find out.

    closed ──failures in a row──► open ──window over──► half-open ──probe ok──► closed
                                   ▲                        └──probe failed──┘

While it is open, outcomes of requests admitted before are not looked at: only the probe decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """failures: in a row, to open. window_s: how long it stays open. probe_s: a probe that has not ended by
    then counts as lost, and another may go."""

    failures: int = 5
    window_s: float = 10.0
    probe_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """failures: in a row, so far. opened_at, probe_at: instants of the caller's clock, None when not."""

    failures: int = 0
    opened_at: float | None = None
    probe_at: float | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """after: the breaker from now on. allowed: this request may go. probe: it is the one that decides; hand
    this back to `record`. retry_after_s: when not allowed, whole seconds until asking again makes sense."""

    after: Breaker
    allowed: bool
    probe: bool = False
    retry_after_s: int = 0


def admit(breaker: Breaker, settings: BreakerSettings, now: float) -> Admission:
    """Whether one more request may go."""
    if breaker.opened_at is None:
        return Admission(breaker, allowed=True)
    waits_until = breaker.opened_at + settings.window_s
    if breaker.probe_at is not None:
        waits_until = max(waits_until, breaker.probe_at + settings.probe_s)
    if now < waits_until:
        known = breaker.probe_at is None
        return Admission(breaker, allowed=False, retry_after_s=math.ceil(waits_until - now) if known else 1)
    return Admission(replace(breaker, probe_at=now), allowed=True, probe=True)


def record(breaker: Breaker, settings: BreakerSettings, now: float, *, ok: bool, probe: bool) -> Breaker:
    """The breaker after a request that was admitted has ended."""
    if breaker.opened_at is not None:
        if not probe:
            return breaker
        return Breaker() if ok else Breaker(settings.failures, opened_at=now)
    if ok:
        return breaker if not breaker.failures else Breaker()
    failures = breaker.failures + 1
    return Breaker(failures, opened_at=now if failures >= settings.failures else None)


def forget_probe(breaker: Breaker) -> Breaker:
    """The probe ended without saying anything about the upstream (its client left): another may go at
    once."""
    return replace(breaker, probe_at=None)
