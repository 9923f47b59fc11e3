"""A cluster that could not be reached is left aside for a while, then asked by one request at a time."""

from __future__ import annotations

from edge.routing.cooling import COOL_S, Cooling


def test_who_could_not_be_reached_is_left_aside_for_a_while() -> None:
    cooling = Cooling()
    cooling.failed("a", 10.0)
    assert cooling.aside(10.0) == {"a"}
    assert cooling.aside(10.0 + COOL_S) == frozenset()


def test_one_request_tries_and_those_behind_it_wait() -> None:
    cooling = Cooling()
    cooling.failed("a", 0.0)
    cooling.chosen("a", COOL_S)
    assert cooling.aside(COOL_S) == {"a"}
    assert cooling.aside(2 * COOL_S) == frozenset()


def test_who_answers_is_as_before() -> None:
    cooling = Cooling()
    cooling.failed("a", 0.0)
    cooling.failed("b", 0.0)
    cooling.reached("a")
    cooling.reached("never failed")
    assert cooling.aside(0.0) == {"b"}


def test_all_is_well_costs_nothing() -> None:
    cooling = Cooling()
    cooling.chosen("a", 0.0)
    assert not cooling.until
