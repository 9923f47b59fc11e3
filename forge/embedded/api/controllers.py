"""Runs the API's own controllers: woken by events, level-based, one task each.

A controller says which resources wake it and has one synchronous `step`, which looks at the whole
state and does what is missing. A failing step is logged and tried again after a pause; it never takes
the server down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.status import ApiError
from forge.embedded.api.values import Event

log = logging.getLogger(__name__)
_PAUSE_S = 1.0


class Controller(Protocol):
    """name: for logs. settle_s: how long it lets events come in before it acts."""

    name: str
    settle_s: float

    def wants(self, event: Event) -> bool:
        """Whether *event* is a reason to look."""
        ...

    def step(self) -> float | None:
        """Does what is to do; seconds after which to look again by itself, None for never."""
        ...


class Loop:
    """One controller and its bell."""

    def __init__(self, cluster: Cluster, controller: Controller) -> None:
        self._controller = controller
        self._bell = asyncio.Event()
        self._bell.set()
        cluster.store.subscribe(self._heard)

    def _heard(self, event: Event) -> None:
        if not self._bell.is_set() and self._controller.wants(event):
            self._bell.set()

    async def run(self) -> None:
        """Steps until cancelled."""
        again: float | None = None
        while True:
            try:
                async with asyncio.timeout(again):
                    await self._bell.wait()
            except TimeoutError:
                pass
            if self._controller.settle_s:
                await asyncio.sleep(self._controller.settle_s)
            self._bell.clear()
            again = self._step()

    def _step(self) -> float | None:
        try:
            return self._controller.step()
        except ApiError as error:
            log.info(
                "controller retries", extra={"controller": self._controller.name, "reason": error.message}
            )
        except Exception:
            log.exception("controller failed", extra={"controller": self._controller.name})
        return _PAUSE_S


async def run(cluster: Cluster, controllers: Sequence[Controller]) -> None:
    """Runs all of *controllers* until cancelled."""
    loops = [Loop(cluster, controller) for controller in controllers]
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop.run())
