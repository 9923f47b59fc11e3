"""Whether a provider takes work: a state machine over its pressure, with hysteresis and limits above it.

    state              sample                                        next
    new_and_existing   pressure >= 0.85, or none, 2 samples in a     existing_only
                       row, and 10 s in this state
    existing_only      recovered: 3 samples in a row, 30 s since     new_and_existing
                       the first of them, and 10 s in this state

Recovered is pressure <= 0.70 after an overload, and merely below 0.85 after anything else. Between the two
thresholds nothing changes. So one sample, whatever it says, moves nothing.

A limit (drained, unhealthy, expired) holds at once and for as long as it lasts; leaving `none` goes by
existing_only and its hold-down, so a provider that comes back is not given everything in one moment.

Source: the enter and exit thresholds and their names are the resource's `admissionPolicy`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from grid.contract.overlay import Admission


class Reason(StrEnum):
    """Why a provider is admitted as it is; a closed set, used in status and `explain`."""

    OPEN = "open"
    AWAITING_SAMPLE = "awaiting_sample"
    OVERLOADED = "overloaded"
    METRICS_MISSING = "metrics_missing"
    RECOVERING = "recovering"
    PENDING = "pending"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    STALE = "stale"
    EXPIRED = "expired"
    DRAINING = "draining"
    DRAINED = "drained"


# Reasons that say nothing is known, rather than that something is wrong.
UNKNOWN = frozenset({Reason.AWAITING_SAMPLE, Reason.METRICS_MISSING, Reason.PENDING})
# What samples closed, samples must open.
_CLOSED_BY_SAMPLES = frozenset({Reason.OVERLOADED, Reason.METRICS_MISSING, Reason.RECOVERING})
# Members by name: looking one up through its class costs more than all that is done with it here.
_OPEN, _AWAITING, _OVERLOADED = Reason.OPEN, Reason.AWAITING_SAMPLE, Reason.OVERLOADED
_NEW_AND_EXISTING, _EXISTING_ONLY = Admission.NEW_AND_EXISTING, Admission.EXISTING_ONLY


@dataclass(frozen=True, slots=True)
class Policy:
    """Thresholds are shares 0..1, exit below enter; durations are seconds.

    missing: what a provider that should be measured and is not may take.
    """

    enter: float = 0.85
    exit: float = 0.70
    failures: int = 2
    successes: int = 3
    minimum_state_s: float = 10.0
    hold_down_s: float = 30.0
    missing: Admission = Admission.EXISTING_ONLY


def instantaneous(policy: Policy) -> Policy:
    """The same thresholds without memory: each sample decides alone."""
    return replace(policy, exit=policy.enter, failures=1, successes=1, minimum_state_s=0.0, hold_down_s=0.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading. number: tells samples apart; the same one seen again counts once.

    pressure: the fullest of the signals looked at, 0..1; None if the sample held none of them.
    """

    number: int
    pressure: float | None


@dataclass(frozen=True, slots=True)
class Limit:
    """What is allowed at most, whatever the pressure."""

    state: Admission
    reason: Reason


@dataclass(frozen=True, slots=True)
class Admitted:
    """The machine's memory. since: when this state began, Unix seconds.

    bad, absent, good: consecutive samples against, without pressure, and for.
    good_since: when the good ones began.
    sample: the last one's number, None before the first.
    """

    state: Admission
    reason: Reason
    since: float
    bad: int = 0
    absent: int = 0
    good: int = 0
    good_since: float = 0.0
    sample: int | None = None


def unseen(now: float) -> Admitted:
    """A provider nothing is known of: closed to new work."""
    return Admitted(_EXISTING_ONLY, _AWAITING, now)


def admit(
    admitted: Admitted, sample: Sample | None, limit: Limit | None, policy: Policy, now: float
) -> Admitted:
    """The state after *sample* under *limit*.

    sample: the newest one; None if there never was any. Called again with the same sample, only time passes.
    """
    if sample is not None and sample.number != admitted.sample:
        admitted = _counted(admitted, sample, policy, now)
    if limit is not None:
        return _limited(admitted, limit, now)
    if admitted.reason is _AWAITING:
        return admitted if sample is None else _first(admitted, sample, policy, now)
    if admitted.absent >= policy.failures:
        return _moved(admitted, policy.missing, Reason.METRICS_MISSING, now)
    if admitted.state is _NEW_AND_EXISTING:
        return _fallen(admitted, policy, now)
    return _risen(_released(admitted, now), policy, now)


def _counted(admitted: Admitted, sample: Sample, policy: Policy, now: float) -> Admitted:
    bad = absent = good = 0
    good_since = admitted.good_since
    # After an overload the pressure must have gone; after anything else it is enough that there is none.
    recovered = policy.exit if admitted.reason is _OVERLOADED else policy.enter
    if sample.pressure is None:
        bad, absent = admitted.bad + 1, admitted.absent + 1
    elif sample.pressure >= policy.enter:
        bad = admitted.bad + 1
    elif sample.pressure <= recovered:
        good, good_since = admitted.good + 1, good_since if admitted.good else now
    return Admitted(
        admitted.state, admitted.reason, admitted.since, bad, absent, good, good_since, sample.number
    )


def is_at_rest(admitted: Admitted, policy: Policy) -> bool:
    """Whether neither time nor the end of a limit can change it: only another sample, or a limit, can."""
    return admitted.reason is _OPEN and admitted.bad < policy.failures


def _limited(admitted: Admitted, limit: Limit, now: float) -> Admitted:
    """Samples under a limit do not count towards recovery: the hold-down begins when it ends.

    A provider never seen stays so under a limit that allows it no less, so that its first sample counts.
    """
    if admitted.reason is _AWAITING and limit.state is admitted.state:
        return admitted
    return _moved(replace(admitted, good=0), limit.state, limit.reason, now)


def _first(admitted: Admitted, sample: Sample, policy: Policy, now: float) -> Admitted:
    """The first sample is believed: there is no state yet that it could make oscillate."""
    if sample.pressure is None:
        return _moved(admitted, policy.missing, Reason.METRICS_MISSING, now)
    if sample.pressure >= policy.enter:
        return _moved(admitted, _EXISTING_ONLY, _OVERLOADED, now)
    return _moved(admitted, _NEW_AND_EXISTING, _OPEN, now)


def _fallen(admitted: Admitted, policy: Policy, now: float) -> Admitted:
    if admitted.bad < policy.failures or now - admitted.since < policy.minimum_state_s:
        return admitted
    return _moved(admitted, _EXISTING_ONLY, _OVERLOADED, now)


def _released(admitted: Admitted, now: float) -> Admitted:
    """The limit is gone. What the samples themselves closed waits for the samples to open it."""
    if admitted.reason in _CLOSED_BY_SAMPLES:
        return admitted
    released = _moved(admitted, _EXISTING_ONLY, Reason.RECOVERING, now)
    return replace(released, good=admitted.good, good_since=admitted.good_since)


def _risen(admitted: Admitted, policy: Policy, now: float) -> Admitted:
    rested = now - admitted.since >= policy.minimum_state_s
    held = admitted.good >= policy.successes and now - admitted.good_since >= policy.hold_down_s
    return _moved(admitted, _NEW_AND_EXISTING, _OPEN, now) if rested and held else admitted


def _moved(admitted: Admitted, state: Admission, reason: Reason, now: float) -> Admitted:
    if admitted.state is state:
        return admitted if admitted.reason is reason else replace(admitted, reason=reason)
    return Admitted(state, reason, now, 0, admitted.absent, 0, admitted.good_since, admitted.sample)
