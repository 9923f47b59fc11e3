"""One task a thing, kept in step with the things there are.

What is new begins, what changed begins again, what is gone ends. Each is a loop round one check, at its pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
P = TypeVar("P")


@dataclass(slots=True)
class Rounds(Generic[K, P]):
    """check: one round for a key, as a plan says; it raises nothing. every_s: the pause after it.

    random: 0..1; a round begins after a random part of its first pause, so that many do not begin as one.
    """

    check: Callable[[K, P], Awaitable[None]]
    every_s: Callable[[P], float]
    random: Callable[[], float]
    _running: dict[K, tuple[P, asyncio.Task[None]]] = field(default_factory=dict)

    def keep(self, group: asyncio.TaskGroup, plans: Mapping[K, P]) -> None:
        """Makes the running rounds those of *plans*."""
        for key in [key for key, (plan, _) in self._running.items() if plans.get(key) != plan]:
            self._running.pop(key)[1].cancel()
        for key, plan in plans.items():
            if key not in self._running:
                self._running[key] = (plan, group.create_task(self._go_round(key, plan)))

    def keys(self) -> set[K]:
        return set(self._running)

    def stop(self) -> None:
        for _, task in self._running.values():
            task.cancel()
        self._running.clear()

    async def _go_round(self, key: K, plan: P) -> None:
        pause_s = self.every_s(plan)
        await asyncio.sleep(min(pause_s, 1.0) * self.random())
        while True:
            await self.check(key, plan)
            await asyncio.sleep(pause_s)
