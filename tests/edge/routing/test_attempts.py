"""A request is tried a bounded number of times, within a bounded time."""

from __future__ import annotations

import pytest

from edge.routing.attempts import Attempts


@pytest.mark.parametrize(
    ("attempts", "now", "expected"),
    [
        pytest.param(Attempts(), 0, True, id="the first"),
        pytest.param(Attempts().failed("a").failed("b"), 0, True, id="the third"),
        pytest.param(Attempts().failed("a").failed("b").failed("c"), 0, False, id="a fourth"),
        pytest.param(Attempts(most=1).failed("a"), 0, False, id="no second one where one is all"),
        pytest.param(Attempts(until=10), 9.9, True, id="within its time"),
        pytest.param(Attempts(until=10), 10, False, id="past its time"),
    ],
)
def test_whether_another_candidate_may_be_asked(attempts: Attempts, now: float, expected: bool) -> None:
    assert attempts.may_try(now) is expected


def test_who_failed_is_kept_in_order_and_the_rest_stays() -> None:
    first = Attempts(most=5, until=9)
    assert first.failed("a").failed("b") == Attempts(("a", "b"), 5, 9)
    assert first.tried == ()
