"""The policy decides by exit code alone, and the back-off doubles to its cap until a run was stable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.process import restart
from forge.embedded.process.spec import Backoff, Phase, Restart

DOCKER = Backoff(first_s=0.1, cap_s=10.0, stable_s=10.0)


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        pytest.param(Restart.NO, 0, False, id="no: a success ends it"),
        pytest.param(Restart.NO, 1, False, id="no: a failure ends it"),
        pytest.param(Restart.ON_FAILURE, 0, False, id="on-failure: a success ends it"),
        pytest.param(Restart.ON_FAILURE, 1, True, id="on-failure: a failure restarts it"),
        pytest.param(Restart.ON_FAILURE, 137, True, id="on-failure: a kill restarts it"),
        pytest.param(Restart.ALWAYS, 0, True, id="always: a success restarts it"),
        pytest.param(Restart.ALWAYS, 1, True, id="always: a failure restarts it"),
        pytest.param(Restart.UNLESS_STOPPED, 0, True, id="unless-stopped: a success restarts it"),
    ],
)
def test_the_policy_decides(policy: Restart, code: int, again: bool) -> None:
    assert restart.restarts(policy, code) is again


def test_an_end_is_a_success_or_a_failure() -> None:
    assert restart.ended(0) is Phase.COMPLETED
    assert restart.ended(143) is Phase.FAILED


def test_waits_double_to_the_cap() -> None:
    waits = [restart.delay_s(n, DOCKER) for n in range(1, 10)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_stable_run_starts_the_row_anew() -> None:
    assert restart.in_a_row(7, 10.0, DOCKER) == 0
    assert restart.in_a_row(7, 9.99, DOCKER) == 8


@given(st.integers(0, 10_000))
def test_a_wait_is_never_shorter_than_the_first_nor_longer_than_the_cap(quick_exits: int) -> None:
    assert 0.1 <= restart.delay_s(quick_exits, DOCKER) <= 10.0
