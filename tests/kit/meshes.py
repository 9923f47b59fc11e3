"""Meshes on loopback sockets, quick enough to watch: a site each, its node, and what was reported."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from grid.mesh.udp import Mesh, open_mesh
from grid.seal.aead import Keyring
from grid.swim.messages import Event
from grid.swim.node import NOTHING, Memory, SwimNode
from grid.swim.tuning import Tuning, tuned

NETWORK = "production"
KEY = b"k" * 32
QUICK = tuned(0.1, 1.0)
"""Ten rounds for a refutation even on a machine that is busy with other things."""


def keyring(*keys: bytes, grid: str = "grid") -> Keyring:
    return Keyring(grid, keys or (KEY,), lambda: os.urandom(12))


@dataclass(slots=True)
class Site:
    """One site's process, as far as its mesh goes."""

    name: str
    mesh: Mesh
    node: SwimNode
    events: list[Event] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.mesh.port}"

    def living(self) -> set[str]:
        return {member.site for member in self.node.view.table.living}


@asynccontextmanager
async def opened(
    name: str,
    seeds: Iterable[str] = (),
    *,
    ring: Keyring | None = None,
    tuning: Tuning = QUICK,
    memory: Memory = NOTHING,
    host: str = "127.0.0.1",
    port: int = 0,
    advertise: str = "",
) -> AsyncIterator[Site]:
    """A site that calls these seeds; it ends without a goodbye. advertise: another's address, of a thief."""
    events: list[Event] = []
    async with (
        asyncio.TaskGroup() as group,
        open_mesh(group, host, port, lambda _, event: events.append(event)) as mesh,
    ):
        chance = random.Random(name)
        node = SwimNode(
            name, advertise or f"{host}:{mesh.port}", random.getrandbits(32), chance, tuning, memory
        )
        mesh.host(NETWORK, node, ring or keyring(), seeds)
        yield Site(name, mesh, node, events)


@asynccontextmanager
async def sites(*names: str, tuning: Tuning = QUICK) -> AsyncIterator[list[Site]]:
    """Several, all seeded with the first."""
    async with AsyncExitStack() as stack:
        made: list[Site] = []
        for name in names:
            seeds = [made[0].address] if made else []
            made.append(await stack.enter_async_context(opened(name, seeds, tuning=tuning)))
        yield made


def all_know(some: Iterable[Site]) -> bool:
    """Whether each of these holds exactly the others for alive."""
    some = list(some)
    names = {site.name for site in some}
    return all(site.living() == names - {site.name} for site in some)


async def hung_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return
