"""How containers of one pod are ended: stop hook, SIGTERM, SIGKILL when the grace is over.

The grace counts from the first word, hook included, and can be cut short while it runs. A container
whose end is under way is not started again before it is over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from forge.embedded.api.values import Json, dig
from forge.embedded.node import checking, containers
from forge.embedded.node.checking import Asked
from forge.embedded.node.hands import Hands
from forge.embedded.node.objects import uid_of
from forge.embedded.node.recipe import process_name
from forge.errors import OperationFailed

log = logging.getLogger(__name__)
_SOONER_S = 0.5
"""A new deadline must be this much earlier: later deletions of a pod all carry about the same one."""


@dataclass(slots=True)
class Endings:
    """bell: rung when an end is over. under_way: processes to the instant of their SIGKILL."""

    hands: Hands
    group: asyncio.TaskGroup
    bell: asyncio.Event
    under_way: dict[str, float] = field(default_factory=dict)

    def begin(self, pod: Json, container: Json, grace_s: float) -> bool:
        """Begins to end it, or hurries an end that began with more grace; True when it began."""
        process = process_name(uid_of(pod), container["name"])
        if not containers.is_running(self.hands.supervisor.status(process)):
            return False
        deadline = time.monotonic() + grace_s
        if process not in self.under_way:
            self.under_way[process] = deadline
            self.group.create_task(self._end(pod, container, process, grace_s))
            return True
        if deadline < self.under_way[process] - _SOONER_S:
            self.under_way[process] = deadline
            self.group.create_task(self._stop(process, grace_s))
        return False

    async def _end(self, pod: Json, container: Json, process: str, grace_s: float) -> None:
        try:
            handler = dig(container, "lifecycle", "preStop")
            if handler and grace_s:
                await self._hook(pod, container, process, handler, grace_s)
            await self._stop(process, max(0.0, self.under_way[process] - time.monotonic()))
        finally:
            self.under_way.pop(process, None)
            self.bell.set()

    async def _hook(self, pod: Json, container: Json, process: str, handler: Json, grace_s: float) -> None:
        address = self.hands.given.get(uid_of(pod), self.hands.address)
        why = await checking.hook(Asked(self.hands.supervisor, process, container, address), handler, grace_s)
        if why:
            path = f"spec.containers{{{container['name']}}}"
            self.hands.recorder.warn(pod, "FailedPreStopHook", f"PreStopHook failed: {why}", path=path)

    async def _stop(self, process: str, grace_s: float) -> None:
        try:
            await self.hands.supervisor.stop(process, grace_s)
        except (OperationFailed, OSError) as error:
            log.warning("container does not end", extra={"container": process, "reason": str(error)})
