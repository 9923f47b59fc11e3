"""When a service counts as ready, or as lost: the law of the gates, without a clock.

    with a health check     healthy at the first probe that passes; lost after `retries` failures
                            in a row that began after the start period
    without one             ready once it has run for `SETTLE_S`, or has exited with 0
    that has ended          done with exit code 0, lost with any other

Whoever runs the probes asks `judge` after each look and does what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from forge.plan.resources import HealthCheck
from forge.plan.values import Condition, Observed, Phase

SETTLE_S = 0.4
"""How long a service without a health check must run before it counts as started: a program that
cannot start exits within tens of milliseconds (an interpreter with a wrong argument: 50 ms)."""

MANY_RESTARTS = 3
"""A service that its policy had to restart so often while `up` waited is not coming up."""


class Standing(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Judgement:
    """failures: probes failed in a row so far, to hand to the next look. detail: one line."""

    standing: Standing
    detail: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a service found. age_s: since its start or since the wait began, whichever
    is later. probe_ok: None where no probe ran."""

    observed: Observed | None
    age_s: float
    restarts: int = 0
    probe_ok: bool | None = None
    probe_detail: str = ""


def judge(condition: Condition, check: HealthCheck | None, look: Look, failures: int = 0) -> Judgement:
    """How a service stands against *condition* after one look. failures: of the look before."""
    if look.observed is None:
        return Judgement(Standing.LOST, "it is gone")
    match look.observed.phase:
        case Phase.COMPLETED:
            return Judgement(Standing.READY, "completed")
        case Phase.FAILED:
            return Judgement(Standing.LOST, f"exited with {look.observed.exit_code}")
        case Phase.STOPPED:
            return Judgement(Standing.LOST, "it was stopped")
        case Phase.BROKEN:
            return Judgement(Standing.LOST, look.observed.detail or "it never started")
        case _:
            pass
    if look.restarts >= MANY_RESTARTS:
        code = look.observed.exit_code
        return Judgement(Standing.LOST, f"keeps exiting (last with {code}), restarted {look.restarts} times")
    if condition is Condition.COMPLETED:
        return Judgement(Standing.WAITING, "running")
    if condition is Condition.STARTED or check is None:
        return _settled(look)
    return _probed(check, look, failures)


def _settled(look: Look) -> Judgement:
    up = look.observed is not None and look.observed.phase is Phase.RUNNING and look.age_s >= SETTLE_S
    return Judgement(Standing.READY, "running") if up else Judgement(Standing.WAITING, "starting")


def _probed(check: HealthCheck, look: Look, failures: int) -> Judgement:
    if look.probe_ok is None:
        return Judgement(Standing.WAITING, "starting", failures)
    if look.probe_ok:
        return Judgement(Standing.READY, "healthy")
    count = failures + 1 if look.age_s >= check.start_period_s else 0
    waiting = Judgement(Standing.WAITING, look.probe_detail, count)
    if count < check.retries:
        return waiting
    times = "once" if count == 1 else f"{count} times in a row"
    return replace(waiting, standing=Standing.LOST, detail=f"failed {times}: {look.probe_detail}")
