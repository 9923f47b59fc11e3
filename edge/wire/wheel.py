"""Many deadlines, one timer: a wheel of coarse buckets, without a clock.

Deadlines move far more often than they pass: each chunk moves one. So moving one later only sets a number,
and the wheel looks again when the bucket it lies in comes up. Time is what `turn` was last told: nobody asks
a clock to move a deadline. A timer fires up to three ticks after it is due, never before.
"""

from __future__ import annotations

import math
from typing import Final

TICK_S: Final = 0.05
NEVER: Final = math.inf


class Timer:
    """What can be put on the wheel. deadline: in the wheel's time, NEVER when off; may be set to NEVER, or to
    something later, without asking the wheel."""

    __slots__ = ("_bucket", "_looked_at", "deadline")

    def __init__(self) -> None:
        self.deadline = NEVER
        self._looked_at = NEVER
        self._bucket = 0

    def expire(self) -> None:
        """The deadline has passed; it is off now."""
        raise NotImplementedError


class Wheel:
    """Timers by bucket; each timer lies in at most one. now: a tick past the last turn, so that what is due
    after some time from now never is too early."""

    __slots__ = ("_buckets", "_next", "now")

    def __init__(self, now: float) -> None:
        self.now = now + TICK_S
        self._buckets: dict[int, set[Timer]] = {}
        self._next = int(now / TICK_S)

    def __len__(self) -> int:
        return sum(len(bucket) for bucket in self._buckets.values())

    def arm(self, timer: Timer, in_s: float) -> None:
        """Let *timer* expire *in_s* seconds from now, whatever was wished before."""
        deadline = timer.deadline = self.now + in_s
        if deadline < timer._looked_at:
            self._place(timer, deadline)

    def forget(self, timer: Timer) -> None:
        """Take *timer* off, and keep no reference to it."""
        timer.deadline = timer._looked_at = NEVER
        bucket = self._buckets.get(timer._bucket)
        if bucket is not None:
            bucket.discard(timer)

    def turn(self, now: float) -> None:
        """It is *now*: expire what is due, move what has been put off."""
        self.now = now + TICK_S
        last = int(now / TICK_S)
        while self._next <= last:
            due = self._buckets.pop(self._next, ())
            self._next += 1  # first: what is armed from here on must land in a bucket yet to come
            for timer in due:
                self._look_at(timer, now)

    def _look_at(self, timer: Timer, now: float) -> None:
        timer._looked_at = NEVER
        deadline = timer.deadline
        if deadline <= now:
            timer.deadline = NEVER
            timer.expire()
        elif deadline is not NEVER:
            self._place(timer, deadline)

    def _place(self, timer: Timer, deadline: float) -> None:
        self.forget(timer)
        timer.deadline = timer._looked_at = deadline
        timer._bucket = max(int(deadline / TICK_S) + 1, self._next)
        self._buckets.setdefault(timer._bucket, set()).add(timer)
