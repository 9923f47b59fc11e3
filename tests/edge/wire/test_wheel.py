"""Timers fire after their deadline and soon after it, move for free, and leave nothing behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edge.wire.wheel import NEVER, TICK_S, Timer, Wheel

ROUNDING = 1e-9
"""Sums and differences of instants: 4.0 + 63 ticks - 4.0 is a little more than 63 ticks."""


class Noting(Timer):
    """Notes the turns it expired in."""

    __slots__ = ("fired",)

    def __init__(self) -> None:
        super().__init__()
        self.fired = 0

    def expire(self) -> None:
        self.fired += 1


def _turn(wheel: Wheel, start: float, seconds: float, timer: Noting) -> float | None:
    """Turn tick by tick; the instant *timer* fired, or None."""
    ticks = int(seconds / TICK_S)
    for tick in range(ticks + 1):
        now = start + tick * TICK_S
        wheel.turn(now)
        if timer.fired:
            return now
    return None


@given(st.floats(0, 50), st.floats(0.0, 20))
def test_it_fires_after_the_deadline_and_within_three_ticks(start: float, in_s: float) -> None:
    wheel, timer = Wheel(start), Noting()
    wheel.turn(start)
    wheel.arm(timer, in_s)
    fired = _turn(wheel, start, in_s + 1, timer)
    assert fired is not None
    assert in_s - 1e-9 <= fired - start <= in_s + 3 * TICK_S + 1e-9  # sums of floats
    assert timer.deadline is NEVER


def test_a_later_deadline_puts_it_off_and_an_earlier_one_brings_it_forward() -> None:
    wheel, timer = Wheel(0.0), Noting()
    wheel.arm(timer, 1.0)
    wheel.arm(timer, 3.0)
    assert _turn(wheel, 0.0, 2.5, timer) is None
    wheel.arm(timer, 0.1)
    assert _turn(wheel, 2.5, 0.4, timer) is not None


def test_switched_off_it_does_not_fire_and_is_forgotten_when_its_bucket_comes() -> None:
    wheel, timer = Wheel(0.0), Noting()
    wheel.arm(timer, 1.0)
    timer.deadline = NEVER
    assert _turn(wheel, 0.0, 2.0, timer) is None
    assert len(wheel) == 0


def test_forgotten_it_leaves_no_reference() -> None:
    wheel, timer = Wheel(0.0), Noting()
    wheel.arm(timer, 100.0)
    wheel.forget(timer)
    assert len(wheel) == 0


def test_it_may_arm_itself_and_forget_others_while_it_expires() -> None:
    wheel = Wheel(0.0)
    other = Noting()

    class Busy(Noting):
        def expire(self) -> None:
            super().expire()
            wheel.forget(other)
            if self.fired < 3:
                wheel.arm(self, 0.0)

    busy = Busy()
    wheel.arm(other, 0.5)
    wheel.arm(busy, 0.5)
    for tick in range(100):
        wheel.turn(tick * TICK_S)
    assert busy.fired == 3
    assert other.fired <= 1
    assert len(wheel) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3)), max_size=60))
def test_each_timer_lies_in_one_bucket_whatever_happens(moves: list[tuple[int, float]]) -> None:
    wheel, timers = Wheel(0.0), [Noting() for _ in range(4)]
    now = 0.0
    for which, in_s in moves:
        wheel.arm(timers[which], in_s)
        now += in_s / 4
        wheel.turn(now)
        assert len(wheel) <= 4
    wheel.turn(now + 10)
    assert len(wheel) == 0
