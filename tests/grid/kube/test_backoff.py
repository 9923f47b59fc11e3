"""Waiting doubles to its cap, with full jitter, and at least as long as the server asks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grid.kube.backoff import Backoff


def test_it_doubles_to_its_cap_and_begins_again() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.failed() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.calm()
    assert backoff.failed() == 1


def test_a_server_may_ask_for_more_but_not_for_ever() -> None:
    backoff = Backoff(lambda: 0.0)
    assert (backoff.failed(5.0), backoff.failed(3600.0)) == (5.0, 30.0)


@given(st.floats(0, 1), st.integers(0, 2000))
def test_it_is_never_over_its_cap(random: float, failures: int) -> None:
    backoff = Backoff(lambda: random)
    waits = [backoff.failed() for _ in range(failures)]
    assert all(0 <= wait <= 30 for wait in waits)
