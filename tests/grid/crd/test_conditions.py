"""A condition keeps the time it came to be as long as its status stays."""

from __future__ import annotations

from grid.crd.base import Condition
from grid.crd.conditions import MAX_MESSAGE, Fact, conditions

NOW = 1_784_980_800.9
BEFORE = Condition(type="Ready", status="True", reason="Old", last_transition_time="2026-01-01T00:00:00Z")


def times(fact: Fact) -> str:
    (found,) = conditions([fact], [BEFORE], 3, NOW)
    return str(found["lastTransitionTime"])


def test_a_status_that_stays_keeps_its_time_whatever_its_reason() -> None:
    assert times(Fact("Ready", True, "New")) == "2026-01-01T00:00:00Z"


def test_a_status_that_changes_has_the_time_of_now_in_whole_seconds() -> None:
    assert times(Fact("Ready", False, "New")) == "2026-07-25T12:00:00Z"
    assert times(Fact("Ready", None, "New")) == "2026-07-25T12:00:00Z"
    assert times(Fact("Other", True, "New")) == "2026-07-25T12:00:00Z"


def test_a_long_message_is_cut() -> None:
    (found,) = conditions([Fact("Ready", True, "Old", "x" * 5000)], [], 1, NOW)
    assert len(str(found["message"])) == MAX_MESSAGE


def test_what_no_fact_names_goes() -> None:
    assert conditions([], [BEFORE], 1, NOW) == []
