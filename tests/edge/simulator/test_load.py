"""Places are given in order, never beyond the capacity, and the cache forgets the oldest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.simulator.load import Load, Pins, slower


def load(capacity: int = 2, room: int = 1) -> Load:
    return Load(capacity, room, kv_blocks=4, block_tokens=4)


def test_requests_run_wait_and_are_refused_in_that_order() -> None:
    made = load()
    assert [made.offer(n) for n in range(4)] == ["running", "running", "waiting", "refused"]
    assert (made.running, made.waiting) == (2, 1)


def test_the_first_that_waits_runs_next() -> None:
    made = load(capacity=1, room=3)
    for n in range(4):
        made.offer(n)
    assert made.done(0) == (1,)
    assert made.done(2) == ()
    assert made.done(1) == (3,)


def test_more_capacity_lets_several_start() -> None:
    made = load(capacity=0, room=3)
    for n in range(3):
        made.offer(n)
    made.capacity = 2
    assert made.advance() == (0, 1)


def test_blocks_are_held_while_a_request_runs() -> None:
    made = load()
    made.offer(0)
    made.hold(0, 5)
    assert made.kv == 0.5
    made.done(0)
    assert made.kv == 0.0


def test_cached_tokens_count_up_to_the_first_miss() -> None:
    made = load()
    assert made.look_up([1, 2, 3]) == 0
    assert made.look_up([1, 2, 9, 3]) == 8
    assert (made.queries, made.hits) == (28, 8)


def test_the_oldest_prefix_makes_room() -> None:
    made = load()
    made.look_up([1, 2, 3, 4])
    made.look_up([5])
    assert made.look_up([1]) == 0


def test_pins_are_shown_instead_of_the_load() -> None:
    made = load()
    made.pins = Pins(queue=40, kv=0.9)
    assert (made.waiting, made.kv) == (40, 0.9)


@pytest.mark.parametrize(
    ("fullness", "factor"),
    [
        pytest.param(0.0, 1.0, id="idle"),
        pytest.param(0.5, 2.0, id="half full"),
        pytest.param(1.0, 3.0, id="full"),
    ],
)
def test_times_stretch_with_the_load(fullness: float, factor: float) -> None:
    assert slower(fullness, 3.0) == factor


@given(st.lists(st.tuples(st.sampled_from(["offer", "done"]), st.integers(0, 9))))
def test_no_more_run_than_the_capacity_and_nobody_waits_beside_a_free_place(
    steps: list[tuple[str, int]],
) -> None:
    made, known = load(capacity=2, room=3), set[int]()
    for step, number in steps:
        if step == "done":
            made.done(number)
            known.discard(number)
        elif number not in known and made.offer(number) != "refused":
            known.add(number)
        assert made.running <= 2
        assert made.waiting == 0 or made.running == 2
        assert made.running + made.waiting == len(known)
