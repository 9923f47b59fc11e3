"""Lets requests run in the order they came: the waiting that `load.Load` only counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from edge.simulator.answers import Refused
from edge.simulator.load import Load


@dataclass(slots=True)
class Queue:
    load: Load
    _turns: dict[int, asyncio.Event] = field(default_factory=dict)
    _last: int = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Waits until the request runs and gives its number; its place is free again afterwards.

        Raises Refused (429) when as many wait as may. A request that is cancelled while it waits leaves the
        queue.
        """
        self._last += 1
        number = self._last
        place = self.load.offer(number)
        if place == "refused":
            raise Refused(429, "the request queue is full", "queue_full")
        try:
            if place == "waiting":
                self._turns[number] = asyncio.Event()
                await self._turns[number].wait()
            yield number
        finally:
            self._turns.pop(number, None)
            self._start(self.load.done(number))

    def resize(self, capacity: int) -> None:
        """Changes how many run at once; those who have room now start."""
        self.load.capacity = capacity
        self._start(self.load.advance())

    def _start(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._turns[number].set()
