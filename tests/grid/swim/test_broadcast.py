"""The least told goes first, every piece as often as its budget says, and no lane waits for another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.swim.broadcast import LANES, Budget, Outbox, Queue
from grid.swim.messages import Lane


def test_each_is_told_as_often_as_the_budget_says() -> None:
    queue = Queue()
    queue.put("a", 30)
    queue.put("b", 30)
    told = [queue.take(40, Budget(3))[0] for _ in range(7)]
    assert told == [["a"], ["b"], ["a"], ["b"], ["a"], ["b"], []]
    assert not queue


def test_what_is_news_of_this_site_is_told_more_often() -> None:
    queue = Queue()
    queue.put("here", 30)
    queue.put("there", 30)
    told = [key for _ in range(6) for key in queue.take(100, Budget(2, "here", 5))[0]]
    assert (told.count("here"), told.count("there")) == (5, 2)


def test_news_of_one_key_starts_again_and_goes_first() -> None:
    queue = Queue()
    queue.put("a", 30)
    queue.put("b", 30)
    assert queue.take(100, Budget(9)) == (["a", "b"], 40)
    queue.put("b", 50)
    assert queue.take(50, Budget(9)) == (["b"], 0)


def test_what_does_not_fit_does_not_hold_up_what_does() -> None:
    queue = Queue()
    queue.put("large", 900)
    queue.put("small", 20)
    assert queue.take(100, Budget(2)) == (["small"], 80)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(20, 400)), max_size=20), st.integers(1, 4))
def test_room_is_never_exceeded_and_everything_ends(news: list[tuple[str, int]], budget: int) -> None:
    queue, sizes = Queue(), dict(news)
    for key, size in news:
        queue.put(key, size)
    times = dict.fromkeys(sizes, 0)
    for _ in range(len(sizes) * budget + 1):
        keys, room = queue.take(400, Budget(budget))
        assert room == 400 - sum(sizes[key] for key in keys) >= 0
        assert len(set(keys)) == len(keys)
        for key in keys:
            times[key] += 1
    assert set(times.values()) <= {budget}


@pytest.mark.parametrize("quiet", LANES)
def test_no_lane_starves_while_others_are_flooded(quiet: Lane) -> None:
    outbox = Outbox()
    for number in range(200):
        outbox.claims.put(f"site-{number}", 45)
        for lane in LANES:
            if lane is not quiet:
                outbox.lanes[lane].put(f"origin-{number}", 600)
    outbox.lanes[quiet].put("east", 950)
    said = [outbox.take(1300, Budget(9)) for _ in range(len(LANES))]
    assert (quiet, "east") in [key for _, keys in said for key in keys]
    assert all(len(sites) >= 1300 // 4 // 45 for sites, _ in said), "claims keep their quarter"


def test_claims_alone_have_all_the_room() -> None:
    outbox = Outbox()
    for number in range(100):
        outbox.claims.put(f"site-{number}", 45)
    sites, _ = outbox.take(1300, Budget(9))
    assert len(sites) == len(set(sites)) == 28
    assert not outbox.is_empty


def test_what_is_forgotten_is_told_no_more() -> None:
    outbox = Outbox()
    outbox.claims.put("east", 45)
    outbox.lanes[Lane.CERT].put("east", 45)
    outbox.forget("east")
    assert outbox.is_empty
