"""The operator's one loop: woken by anything, it looks at everything and does what is to be done.

An event says only *that* something changed. A burst of them is one turn; without any there is one each tick,
since time alone ends hold-downs, ages facts and uses up validity. Only the leader's turns do anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from grid.reconcile import policy
from grid.reconcile.act import Actor
from grid.reconcile.decide import Decision, decide
from grid.reconcile.mesh import Mesh
from grid.reconcile.metrics import OperatorMetrics
from grid.reconcile.network import Memory
from grid.reconcile.observe import Observer
from grid.scoring.explain import explain

log = logging.getLogger(__name__)
TICK_S = 1.0
# Long enough to take a burst of watch events as one, short against every promise about seconds.
SETTLE_S = 0.02
# After a turn, a pause of thrice its length: however much changes, deciding takes a quarter of a core.
_PAUSES = 3
# A new leader says nothing narrower than the one before it said, until it knows; but not for ever.
UNSETTLED_S = 10.0


@dataclass(slots=True)
class Loop:
    """leads: whether this process may act. now: Unix seconds. last: the last decision, None before any."""

    observer: Observer
    actor: Actor
    mesh: Mesh
    metrics: OperatorMetrics
    leads: Callable[[], bool]
    now: Callable[[], float]
    woken: asyncio.Event
    tick_s: float = TICK_S
    memory: Memory = field(default_factory=Memory)
    last: Decision | None = None
    turned_at: float = 0.0
    _leading: bool = False
    _took_s: float = 0.0

    async def run(self) -> None:
        """Turns until cancelled."""
        async with asyncio.TaskGroup() as group:
            self.observer.begin(group)
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.tick_s):
                        await self.woken.wait()
                self.woken.clear()
                await asyncio.sleep(max(SETTLE_S, _PAUSES * self._took_s))
                await self._turn(group)

    async def _turn(self, group: asyncio.TaskGroup) -> None:
        if not self.leads():
            self._rest()
            return
        self.observer.follow(group)
        if not self.observer.synced:
            return
        if not self._leading:
            self._leading, self.observer.started_at = True, self.now()
        self.observer.keep_membership(group)
        began = time.perf_counter()
        world = self.observer.world(self.actor.unwritten)
        decision = decide(world, self.memory, self.now())
        self._took_s = time.perf_counter() - began
        self.metrics.turned(world, decision, self._took_s)
        self.memory, self.last, self.turned_at = decision.memory, decision, self.now()
        if world.settled or self.turned_at - self.observer.started_at >= UNSETTLED_S:
            self.mesh.publish(decision.published, self.observer.own_place())
        if not await self.actor.act(decision.actions):
            self.woken.set()

    def _rest(self) -> None:
        """A follower remembers nothing: what it would need stands in the API."""
        if self._leading:
            self._leading, self.memory, self.last = False, Memory(), None
        self.observer.rest()

    def not_ready(self) -> Iterator[str]:
        """Why this process cannot be relied upon now. A follower is ready to take over."""
        if not self.observer.reads:
            yield "the API has not been read yet"
        yield from self.observer.lost()
        if self.leads() and self._leading and self.now() - self.turned_at > max(10.0, 5 * self.tick_s):
            yield "the loop does not turn"

    def status(self) -> dict[str, object]:
        """The /status document."""
        outcomes = (
            [] if self.last is None else [each for served in self.last.outcomes.values() for each in served]
        )
        return {
            "site": self.observer.site,
            "leads": self.leads(),
            "mesh": self.mesh.described(),
            "overlays": [
                {
                    "network": outcome.gateway.network.metadata.name,
                    "gateway": outcome.gateway.ref.name,
                    "revision": outcome.rendered.overlay.label,
                    "digest": outcome.rendered.overlay.digest,
                    "candidates": len(outcome.rendered.overlay.candidates),
                    "phase": outcome.phase,
                }
                for outcome in outcomes
            ],
        }

    def explained(self, network: str, gateway: str, model: str = "") -> Iterator[str]:
        """Why each candidate of a gateway stands where it stands; of all models, or one."""
        served = self.last.outcomes.get(network, ()) if self.last else ()
        for outcome in served:
            if outcome.gateway.ref.name != gateway:
                continue
            overlay = outcome.rendered.overlay
            progress = f"revision {overlay.label}, {len(overlay.candidates)} candidates, {outcome.phase}"
            yield f"{gateway} of {network}: {progress}"
            preference = policy.preference(outcome.gateway.network)
            for (kind, name), shelf in outcome.desk.memo.shelves.items():
                if model in {"", name}:
                    yield f"{kind} {name}"
                    yield from (f"  {line}" for line in explain(shelf.ranking, preference))
