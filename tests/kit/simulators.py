"""A real simulator in this process, on free ports of loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from edge.simulator.process import Process
from edge.simulator.server import Simulator
from edge.simulator.settings import Settings

QUICK = Settings(port=0, admin_port=0, ttft_ms=2, itl_ms=1, models=("shared-model", "other-model"))


@asynccontextmanager
async def running(settings: Settings = QUICK, **changes: object) -> AsyncIterator[Process]:
    """A simulator that serves inside the block; *changes* are fields of Settings."""
    made = replace(settings, **changes)  # type: ignore[arg-type]  # checked by the dataclass at run time
    process = Process(Simulator(made, time.monotonic, time.time))
    stop, ready = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop, ready))
        async with asyncio.timeout(20):
            await ready.wait()
        try:
            yield process
        finally:
            stop.set()
