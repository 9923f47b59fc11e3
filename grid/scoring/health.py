"""A provider's health from its probes: consecutive results decide, one never does.

              3 not OK in a row                        2 OK in a row
    any state ─────────────────► degraded | unavailable ────────────► available

`degraded` answers, but not with success; `unavailable` does not answer. The last result of the streak says
which, and from one to the other it takes a streak of that one's own. Before anything is known a provider is
pending.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Verdict(StrEnum):
    """What one probe found."""

    OK = "ok"
    ERROR = "error"
    NO_ANSWER = "no_answer"


class Phase(StrEnum):
    """Whether a provider can be used; the values are the resource's status.phase."""

    PENDING = "Pending"
    AVAILABLE = "Available"
    DEGRADED = "Degraded"
    UNAVAILABLE = "Unavailable"


_FAILED = {Verdict.ERROR: Phase.DEGRADED, Verdict.NO_ANSWER: Phase.UNAVAILABLE}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Consecutive results needed to fall, and to rise."""

    failures: int = 3
    successes: int = 2


@dataclass(frozen=True, slots=True)
class Health:
    """phase: as decided. since: when it was, in Unix seconds.

    failures, successes: the running streak. alike: how many of its last results were `last`.
    """

    phase: Phase
    since: float
    failures: int = 0
    successes: int = 0
    last: Verdict | None = None
    alike: int = 0


def unknown(now: float) -> Health:
    """Nothing was probed yet."""
    return Health(Phase.PENDING, now)


def probed(health: Health, verdict: Verdict, thresholds: Thresholds, now: float) -> Health:
    """The health after one more probe."""
    health = replace(health, last=verdict, alike=health.alike + 1 if verdict is health.last else 1)
    if verdict is Verdict.OK:
        health = replace(health, successes=health.successes + 1, failures=0)
        return _moved(health, Phase.AVAILABLE, now) if health.successes >= thresholds.successes else health
    health = replace(health, failures=health.failures + 1, successes=0)
    streak = health.alike if health.phase in _FAILED.values() else health.failures
    return _moved(health, _FAILED[verdict], now) if streak >= thresholds.failures else health


def _moved(health: Health, phase: Phase, now: float) -> Health:
    return health if health.phase is phase else replace(health, phase=phase, since=now)
