"""The law of probes: what a row of answers means, and when to ask again. Pure.

A probe stands at its result until enough answers in a row say otherwise. Before the first success of a
readiness or startup probe the node asks more often than the period, since a lab's programs are up long
before a period of seconds is; such early answers can only let a container pass, never fail it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from forge.embedded.api.values import Json

_FIRST_S = 0.04
_EAGER_CAP_S = 1.0


class Kind(StrEnum):
    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


@dataclass(frozen=True, slots=True)
class Rule:
    """When to ask, and how many answers in a row change the result."""

    delay_s: float
    period_s: float
    timeout_s: float
    successes: int
    failures: int


def rule(probe: Json) -> Rule:
    return Rule(
        float(probe.get("initialDelaySeconds") or 0),
        float(probe.get("periodSeconds") or 10),
        float(probe.get("timeoutSeconds") or 1),
        int(probe.get("successThreshold") or 1),
        int(probe.get("failureThreshold") or 3),
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """passed: the result. row: answers in a row that are alike, of which the last was *last*.
    ever: whether it has passed. failed: enough failures in a row, at this answer."""

    passed: bool
    last: bool = False
    row: int = 0
    ever: bool = False
    failed: bool = False
    eager: int = 0
    counted_at: float = 0.0


def begin(kind: Kind) -> Standing:
    """A container is alive until shown otherwise, and not ready or started until shown so."""
    return Standing(passed=kind is Kind.LIVENESS, ever=kind is Kind.LIVENESS)


def judge(standing: Standing, rule: Rule, now: float, *, ok: bool) -> Standing:
    """The standing after one more answer. now: monotonic seconds."""
    early = not standing.ever and standing.counted_at and now - standing.counted_at < rule.period_s
    if not ok and early:
        return replace(
            standing,
            failed=False,
            eager=standing.eager + 1,
            last=False,
            row=0 if standing.last else standing.row,
        )
    row = standing.row + 1 if ok == standing.last and standing.row else 1
    passed = standing.passed
    if ok and row >= rule.successes:
        passed = True
    elif not ok and row >= rule.failures:
        passed = False
    return Standing(
        passed=passed,
        last=ok,
        row=row,
        ever=standing.ever or passed,
        failed=not ok and row >= rule.failures,
        eager=standing.eager + 1,
        counted_at=now,
    )


def was_counted(before: Standing, after: Standing) -> bool:
    """Whether the answer between the two was one of the period's own, and not an early one."""
    return before.counted_at != after.counted_at


def wait_s(standing: Standing, rule: Rule) -> float:
    """Seconds until the next question."""
    if standing.ever:
        return rule.period_s
    return float(min(rule.period_s, _EAGER_CAP_S, _FIRST_S * 1.5 ** min(standing.eager, 20)))
