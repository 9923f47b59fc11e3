"""The laws, at sizes one can check by hand."""

from __future__ import annotations

import pytest

from grid.swim.tuning import (
    ASKED_FAILS,
    DEFAULT,
    LAB,
    detection_bound,
    dissemination_rounds,
    exchange_interval,
    indirect_probes,
    own_budget,
    retransmit_budget,
    suspicion_timeout,
    tuned,
)

TUNING = tuned(1.0, 5.0)


@pytest.mark.parametrize(
    ("members", "seconds"),
    [
        pytest.param(1, 5.0, id="alone: the floor"),
        pytest.param(3, 5.0, id="a small grid: the floor"),
        pytest.param(128, 10.5, id="1.5 x 7 rounds"),
        pytest.param(1024, 15.0, id="1.5 x 10 rounds"),
    ],
)
def test_how_long_a_suspect_has(members: int, seconds: float) -> None:
    assert suspicion_timeout(members, TUNING) == pytest.approx(seconds)


@pytest.mark.parametrize(("members", "times"), [(1, 2), (9, 4), (10, 5), (99, 8), (128, 9), (1024, 13)])
def test_how_often_news_is_passed_on(members: int, times: int) -> None:
    assert retransmit_budget(members, TUNING) == times


@pytest.mark.parametrize(("members", "times"), [(1, 2), (3, 3), (6, 5), (9, 8), (20, 8), (1024, 13)])
def test_how_often_a_node_tells_its_own_news(members: int, times: int) -> None:
    assert own_budget(members, TUNING) == times


@pytest.mark.parametrize(
    ("members", "seconds"), [(0, 30.0), (3, 30.0), (32, 30.0), (33, 60.0), (1024, 180.0)]
)
def test_how_often_everything_is_exchanged_while_there_is_news(members: int, seconds: float) -> None:
    assert exchange_interval(members, TUNING) == pytest.approx(seconds)


@pytest.mark.parametrize(("members", "asked"), [(1, 3), (32, 3), (33, 4), (172, 4), (173, 5), (1024, 6)])
def test_how_many_are_asked_about_who_does_not_answer(members: int, asked: int) -> None:
    assert indirect_probes(members, TUNING) == asked


def test_the_whole_grid_makes_as_few_mistakes_whatever_its_size() -> None:
    """False suspicions a round at 5 % loss: each member's probe fails, directly and by all that are asked."""
    direct = 1 - 0.95**2

    def mistakes(members: int) -> float:
        return members * direct * ASKED_FAILS ** indirect_probes(members, TUNING)

    assert max(mistakes(n) for n in range(2, 1025)) <= mistakes(32) < 0.02


def test_the_bounds_grow_with_the_logarithm() -> None:
    assert [dissemination_rounds(n) for n in (2, 16, 1024)] == [4.5, 9.0, 18.0]
    bounds = [detection_bound(n, TUNING) for n in (8, 64, 512)]
    assert bounds == pytest.approx([11 + 15 + 5, 11 + 24 + 9, 11 + 33 + 13.5])


def test_a_lab_of_three_declares_a_death_within_seconds() -> None:
    assert suspicion_timeout(3, LAB) == 1.5
    assert LAB.probe_interval_s == 0.3
    assert (DEFAULT.probe_interval_s, DEFAULT.suspicion_s) == (5.0, 10.0)


def test_numbers_that_would_make_a_node_spin_are_brought_within_bounds() -> None:
    assert tuned(0.0, 1.0).probe_interval_s == 0.05
    assert [tuned(1.0, 1.0, n).gossip_fanout for n in (0, 3, 99)] == [1, 3, 16]


def test_indirect_probes_have_the_greater_part_of_a_round() -> None:
    assert TUNING.probe_timeout_s < TUNING.probe_interval_s / 2
