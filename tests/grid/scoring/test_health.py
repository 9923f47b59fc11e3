"""Health moves on consecutive results only, and says since when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.scoring.health import Health, Phase, Thresholds, Verdict, probed, unknown

DEFAULT = Thresholds()
LETTERS = {".": Verdict.OK, "e": Verdict.ERROR, "x": Verdict.NO_ANSWER}
SETTLED = {Phase.AVAILABLE: "..", Phase.DEGRADED: "eee", Phase.UNAVAILABLE: "xxx", Phase.PENDING: ""}


def after(verdicts: str, thresholds: Thresholds = DEFAULT) -> Health:
    health = unknown(0.0)
    for at, letter in enumerate(verdicts, 1):
        health = probed(health, LETTERS[letter], thresholds, float(at))
    return health


@pytest.mark.parametrize(
    ("verdicts", "phase", "since"),
    [
        pytest.param("", Phase.PENDING, 0, id="nothing probed"),
        pytest.param(".", Phase.PENDING, 0, id="one success is not yet health"),
        pytest.param("..", Phase.AVAILABLE, 2, id="two are"),
        pytest.param("....", Phase.AVAILABLE, 2, id="it keeps the time it began"),
        pytest.param("..xx", Phase.AVAILABLE, 2, id="two failures are not yet an outage"),
        pytest.param("..xxx", Phase.UNAVAILABLE, 5, id="three are"),
        pytest.param("..xx.xx", Phase.AVAILABLE, 2, id="a success between starts the count again"),
        pytest.param("..eee", Phase.DEGRADED, 5, id="errors degrade"),
        pytest.param("..xxe", Phase.DEGRADED, 5, id="the last of the streak names it"),
        pytest.param("..eeexx", Phase.DEGRADED, 5, id="two worse ones are not yet worse"),
        pytest.param("..eeexxx", Phase.UNAVAILABLE, 8, id="from bad to worse"),
        pytest.param("xxx.", Phase.UNAVAILABLE, 3, id="one success does not recover"),
        pytest.param("xxx.x.", Phase.UNAVAILABLE, 3, id="nor two with a failure between"),
        pytest.param("xxx..", Phase.AVAILABLE, 5, id="two in a row do"),
    ],
)
def test_health(verdicts: str, phase: Phase, since: float) -> None:
    assert (after(verdicts).phase, after(verdicts).since) == (phase, since)


def test_thresholds_are_honoured() -> None:
    assert after("x", Thresholds(failures=1)).phase is Phase.UNAVAILABLE
    assert after(".", Thresholds(successes=1)).phase is Phase.AVAILABLE


@given(
    st.sampled_from(Phase).filter(lambda phase: phase is not Phase.PENDING),
    st.sampled_from(list(LETTERS)),
    st.integers(0, 6),
)
def test_one_odd_result_never_moves_a_settled_provider(phase: Phase, odd: str, place: int) -> None:
    """Whatever one result of a steady row is replaced by, the phase stays all along."""
    steady = SETTLED[phase]
    row = steady + steady[0] * place + odd + steady[0] * 4
    assert {after(row[:end]).phase for end in range(len(steady), len(row) + 1)} == {phase}
