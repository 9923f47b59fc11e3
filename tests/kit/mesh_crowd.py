"""Many sites in one process: `python -m tests.kit.mesh_crowd COUNT SEED`, for what one more of them costs.

Each says a state of its own every ten seconds, as an operator with one provider does. Ends with its input.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack

from grid.swim.messages import Lane
from grid.swim.tuning import tuned
from tests.kit.meshes import NETWORK, Site, opened

TUNING = tuned(1.0, 5.0)
STATE_BYTES = 300
EVERY_S = 10.0


async def main(count: int, seed: str) -> None:
    ended = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(ended), sys.stdin)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        sites = [
            await stack.enter_async_context(opened(f"site-{number:03}", [seed], tuning=TUNING))
            for number in range(count)
        ]
        talking = group.create_task(talk(sites))
        await ended.read()
        talking.cancel()


async def talk(sites: list[Site]) -> None:
    while True:
        for site in sites:
            site.mesh.publish(NETWORK, Lane.STATE, os.urandom(STATE_BYTES))
            await asyncio.sleep(EVERY_S / len(sites))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
