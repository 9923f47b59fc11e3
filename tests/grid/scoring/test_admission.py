"""Admission follows pressure with hysteresis; a limit holds at once; one odd sample moves nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import Admission
from grid.scoring.admission import Admitted, Limit, Policy, Reason, Sample, admit, instantaneous, unseen

OPEN, EXISTING, NONE = Admission.NEW_AND_EXISTING, Admission.EXISTING_ONLY, Admission.NONE
POLICY = Policy()
EXCLUDING = Policy(missing=NONE)
DRAINED = Limit(NONE, Reason.DRAINED)
DRAINING = Limit(EXISTING, Reason.DRAINING)
STALE = Limit(EXISTING, Reason.STALE)
UNHEALTHY = Limit(NONE, Reason.UNHEALTHY)
PENDING = Limit(EXISTING, Reason.PENDING)

# A step is a pressure (None: a sample without one), or a limit with the pressure beside it.
Step = float | None | tuple[float | None, Limit]


def run(steps: Iterable[Step], policy: Policy = POLICY, every_s: float = 10.0) -> list[Admitted]:
    """The states after each step, one sample *every_s* seconds."""
    found: list[Admitted] = []
    state = unseen(0.0)
    for number, step in enumerate(steps):
        pressure, limit = step if isinstance(step, tuple) else (step, None)
        state = admit(state, Sample(number, pressure), limit, policy, number * every_s)
        found.append(state)
    return found


def told(states: Iterable[Admitted]) -> str:
    """One letter a state: + open, = existing only, - none."""
    return "".join({OPEN: "+", EXISTING: "=", NONE: "-"}[state.state] for state in states)


@pytest.mark.parametrize(
    ("steps", "states", "reason"),
    [
        pytest.param([0.1], "+", Reason.OPEN, id="the first sample opens"),
        pytest.param([0.9], "=", Reason.OVERLOADED, id="a provider that begins saturated is not opened"),
        pytest.param([None], "=", Reason.METRICS_MISSING, id="a first sample without pressure does not open"),
        pytest.param([0.1, 0.84, 0.84, 0.84], "++++", Reason.OPEN, id="below the threshold nothing happens"),
        pytest.param([0.1, 0.85, 0.85], "++=", Reason.OVERLOADED, id="two samples at the threshold close"),
        pytest.param(
            [0.1, 0.9, 0.1, 0.9, 0.1], "+++++", Reason.OPEN, id="every other sample high closes nothing"
        ),
        pytest.param(
            [0.1, None, None], "++=", Reason.METRICS_MISSING, id="two samples without pressure close"
        ),
        pytest.param([0.1, None, 0.9], "++=", Reason.OVERLOADED, id="one without and one high close"),
        pytest.param(
            [0.9, 0.8, 0.8, 0.8, 0.8, 0.8], "======", Reason.OVERLOADED, id="between the thresholds it stays"
        ),
        pytest.param([0.9, 0.7, 0.7, 0.7], "====", Reason.OVERLOADED, id="three good samples, held down"),
        pytest.param(
            [0.9, 0.7, 0.7, 0.7, 0.7], "====+", Reason.OPEN, id="30 s after the first good one it opens"
        ),
        pytest.param(
            [0.9, 0.7, 0.7, 0.8, 0.7, 0.7, 0.7],
            "=======",
            Reason.OVERLOADED,
            id="a worse sample starts the hold-down again",
        ),
        pytest.param(
            [None, 0.8, 0.8, 0.8, 0.8], "====+", Reason.OPEN, id="after missing metrics no overload is enough"
        ),
        pytest.param(
            [0.1, (0.1, DRAINED), (0.1, DRAINED), 0.1, 0.1, 0.1, 0.1],
            "+--===+",
            Reason.OPEN,
            id="undrained, it comes back by existing only",
        ),
        pytest.param([(0.1, DRAINED)], "-", Reason.DRAINED, id="drained from the start"),
        pytest.param([0.1, (0.1, DRAINING)], "+=", Reason.DRAINING, id="draining closes to new work at once"),
        pytest.param([0.1, (0.1, STALE), 0.1], "+==", Reason.RECOVERING, id="fresh again, it is held down"),
        pytest.param([0.1, (0.1, UNHEALTHY)], "+-", Reason.UNHEALTHY, id="unhealthy closes at once"),
        pytest.param(
            [(0.1, PENDING), (0.1, PENDING), 0.1], "==+", Reason.OPEN, id="pending costs no hold-down"
        ),
        pytest.param([(0.1, PENDING)], "=", Reason.AWAITING_SAMPLE, id="pending is not known yet"),
        pytest.param(
            [0.9, (0.1, STALE), (0.1, DRAINED)], "==-", Reason.DRAINED, id="from one limit to a harder one"
        ),
    ],
)
def test_admission(steps: list[Step], states: str, reason: Reason) -> None:
    found = run(steps)
    assert (told(found), found[-1].reason) == (states, reason)


@pytest.mark.parametrize(
    ("steps", "states"),
    [
        pytest.param([None], "-", id="a first sample without pressure"),
        pytest.param([0.1, None, None], "++-", id="two samples without pressure"),
        pytest.param([0.9, None, None], "==-", id="also when overloaded"),
        pytest.param([None, 0.1, 0.1, 0.1], "----", id="one good sample is not enough to come back"),
        pytest.param([None, 0.1, 0.1, 0.1, 0.1], "----+", id="the hold-down is"),
    ],
)
def test_missing_metrics_may_exclude(steps: list[Step], states: str) -> None:
    assert told(run(steps, EXCLUDING)) == states


@pytest.mark.parametrize(
    ("steps", "states"),
    [
        pytest.param([0.1, 0.85, 0.84], "+=+", id="each sample decides alone"),
        pytest.param([0.1, None, 0.1], "+=+", id="also one without pressure"),
    ],
)
def test_instantaneous(steps: list[Step], states: str) -> None:
    assert told(run(steps, instantaneous(POLICY))) == states


def test_a_state_lasts_its_minimum_however_quick_the_samples() -> None:
    found = run([0.1, *[0.9] * 14], every_s=1.0)
    assert told(found) == "+" * 10 + "=" * 5
    assert found[-1].since == 10.0


def test_time_alone_ends_a_minimum_that_samples_wait_for() -> None:
    state = run([0.1, 0.9, 0.9], every_s=1.0)[-1]
    assert state.state is OPEN
    assert admit(state, Sample(2, 0.9), None, POLICY, 10.0).state is EXISTING


def test_the_same_sample_seen_again_counts_once() -> None:
    state = run([0.1])[-1]
    for at in range(11, 30):
        state = admit(state, Sample(7, 0.99), None, POLICY, float(at))
    assert (state.state, state.bad) == (OPEN, 1)


def test_without_any_sample_a_provider_stays_closed_to_new_work() -> None:
    state = admit(unseen(0.0), None, None, POLICY, 1e9)
    assert (state.state, state.reason) == (EXISTING, Reason.AWAITING_SAMPLE)


def test_a_state_remembered_over_a_restart_stands_until_samples_change_it() -> None:
    remembered = Admitted(OPEN, Reason.OPEN, since=0.0)
    assert admit(remembered, None, None, POLICY, 100.0) == remembered


STEADY = st.sampled_from([0.0, 0.3, 0.69, 0.72, 0.78, 0.84, 0.86, 1.0, None])
ODD = st.none() | st.floats(0.0, 1.0)
POLICIES = st.sampled_from(
    [POLICY, EXCLUDING, dataclasses.replace(POLICY, minimum_state_s=0.0, hold_down_s=0.0)]
)


@given(STEADY, ODD, POLICIES, st.floats(0.1, 60.0))
def test_one_odd_sample_in_a_steady_row_moves_nothing(
    steady: float | None, odd: float | None, policy: Policy, every_s: float
) -> None:
    """Settled for long, then one sample of anything, then steady again: the state is the same throughout."""
    settled = 4 + int(60 / every_s)
    states = run([0.0, *[steady] * settled, odd, *[steady] * 4], policy, every_s)
    after = states[settled:]
    assert len({state.state for state in after}) == 1


@given(st.lists(ODD, max_size=40), POLICIES, st.floats(0.1, 60.0))
def test_states_change_no_quicker_than_their_minimum(
    pressures: list[float | None], policy: Policy, every_s: float
) -> None:
    """But for missing metrics, which close at once by policy."""
    changes = [
        state
        for before, state in pairwise(run(pressures, policy, every_s))
        if before.state is not state.state and state.reason is not Reason.METRICS_MISSING
    ]
    for earlier, later in pairwise(changes):
        assert later.since - earlier.since >= policy.minimum_state_s


@given(st.lists(st.tuples(ODD, st.sampled_from([DRAINED, DRAINING, STALE, UNHEALTHY])), min_size=1))
def test_no_sample_gets_past_a_limit(steps: list[Step]) -> None:
    order = [OPEN, EXISTING, NONE]
    for step, state in zip(steps, run(steps), strict=True):
        assert isinstance(step, tuple)
        assert order.index(state.state) >= order.index(step[1].state)
