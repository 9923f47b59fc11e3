"""The breaker opens after failures in a row, stays open for its window, and lets one probe decide."""

from __future__ import annotations

from edge.wire.breaker import Breaker, BreakerSettings, admit, forget_probe, record

SETTINGS = BreakerSettings(failures=3, window_s=10, probe_s=30)


def _failed(times: int, now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(times):
        breaker = record(breaker, SETTINGS, now, ok=False, probe=False)
    return breaker


def test_it_is_closed_until_enough_failures_in_a_row() -> None:
    assert admit(_failed(2), SETTINGS, 0.0).allowed
    assert not admit(_failed(3), SETTINGS, 0.0).allowed


def test_a_success_starts_the_count_again() -> None:
    breaker = record(_failed(2), SETTINGS, 0.0, ok=True, probe=False)
    assert record(breaker, SETTINGS, 0.0, ok=False, probe=False).opened_at is None


def test_while_open_it_says_when_to_ask_again() -> None:
    assert admit(_failed(3, now=100.0), SETTINGS, 104.5).retry_after_s == 6


def test_after_the_window_exactly_one_probe_goes() -> None:
    first = admit(_failed(3), SETTINGS, 10.0)
    second = admit(first.after, SETTINGS, 10.1)
    assert (first.allowed, first.probe) == (True, True)
    assert (second.allowed, second.retry_after_s) == (False, 1)


def test_the_probe_decides() -> None:
    probing = admit(_failed(3), SETTINGS, 10.0).after
    assert record(probing, SETTINGS, 11.0, ok=True, probe=True) == Breaker()
    again = record(probing, SETTINGS, 11.0, ok=False, probe=True)
    assert not admit(again, SETTINGS, 20.9).allowed
    assert admit(again, SETTINGS, 21.0).probe


def test_late_outcomes_of_earlier_requests_do_not_decide() -> None:
    breaker = _failed(3)
    assert record(breaker, SETTINGS, 1.0, ok=True, probe=False) == breaker
    assert record(breaker, SETTINGS, 9.0, ok=False, probe=False) == breaker


def test_a_lost_probe_gives_way_after_its_time_and_a_forgotten_one_at_once() -> None:
    probing = admit(_failed(3), SETTINGS, 10.0).after
    assert not admit(probing, SETTINGS, 39.9).allowed
    assert admit(probing, SETTINGS, 40.0).probe
    assert admit(forget_probe(probing), SETTINGS, 10.1).probe
