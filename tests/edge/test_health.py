"""An endpoint changes its state after so many observations in a row, and after nothing less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.health import Health, Thresholds, observe

THREE_TWO = Thresholds(3, 2)


def _after(observations: str, thresholds: Thresholds = THREE_TWO) -> str:
    """The state after each observation: H or u; observations: + or -."""
    health, states = Health(), ""
    for observation in observations:
        health = observe(health, observation == "+", thresholds)
        states += "H" if health.healthy else "u"
    return states


@pytest.mark.parametrize(
    ("observations", "states"),
    [
        pytest.param("+++", "HHH", id="good stays good"),
        pytest.param("--", "HH", id="two failures are not enough"),
        pytest.param("---", "HHu", id="three are"),
        pytest.param("--+--", "HHHHH", id="a success between starts the count again"),
        pytest.param("---+", "HHuu", id="one success is not enough"),
        pytest.param("---++", "HHuuH", id="two are"),
        pytest.param("---+-++", "HHuuuuH", id="a failure between starts it again"),
    ],
)
def test_consecutive_observations_change_the_state(observations: str, states: str) -> None:
    assert _after(observations) == states


def test_a_source_without_thresholds_never_changes_it() -> None:
    assert _after("----", Thresholds(None, None)) == "HHHH"


@given(st.lists(st.booleans(), max_size=60))
def test_a_single_odd_observation_never_flips_it(observations: list[bool]) -> None:
    health = Health()
    for ok in observations:
        once = observe(health, not health.healthy, THREE_TWO)
        if health.against == 0:
            assert once.healthy == health.healthy
        health = observe(health, ok, THREE_TWO)
