"""Three clusters as one grid: from a change in one to the overlay in another, in seconds on this machine.

Real operators, APIs and sockets, lab timings: probe 300 ms, suspicion 1.5 s, hold-down 1 s, gateways looked at
each 200 ms. Goals: a new provider is in the other cluster's overlay within 2 s; a lost site is closed within the
detection bound; what heals is open again after its hold-down.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from grid.kube.port import INFERENCE_PROVIDER
from grid.swim.tuning import LAB, detection_bound
from tests.kit.grids import WEST, Grid, grid

TIMES = 5


async def took(look: Callable[[], Awaitable[Any]], expected: Any) -> float:
    """Seconds until *look* gives *expected*."""
    began = time.perf_counter()
    while await look() != expected:
        if time.perf_counter() - began > 60:
            return float("nan")
        await asyncio.sleep(0.005)
    return time.perf_counter() - began


def line(what: str, seconds: list[float], goal: str) -> None:
    low, high = min(seconds), max(seconds)
    print(
        f"{what:52} {statistics.median(seconds):6.2f} s   ({low:.2f} to {high:.2f})   goal {goal}", flush=True
    )


async def measure(three: Grid) -> None:
    both = ["gateway-east-a", "gateway-west-a"]
    for site in (three.east, three.west, three.control):
        await site.start()
    await three.east.provide("east-a")
    await three.west.provide("west-a")
    await took(three.told, both)
    made, gone = [], []
    for _ in range(TIMES):
        await three.west.provide("west-b")
        made.append(await took(three.told, [*both, "gateway-west-b"]))
        await three.west.client.delete(INFERENCE_PROVIDER, "west-b")
        gone.append(await took(three.told, both))
    line("a provider made in west is in the overlay", made, "2 s")
    line("a provider removed in west is out of it", gone, "2 s")

    bound = f"{detection_bound(3, LAB):.1f} s, the detection bound"
    closed, opened = [], []
    for _ in range(TIMES):
        assert three.west.operator is not None
        await three.west.operator.kill()
        closed.append(await took(three.told, ["=gateway-west-a", "gateway-east-a"]))
        await three.west.start()
        opened.append(await took(three.told, both))
    line("west's operator killed: closed to new work", closed, bound)
    line("started again: open (process, lease and hold-down too)", opened, "none")

    cut, healed = [], []
    for _ in range(TIMES):
        for one, other in ((three.control, three.west), (three.east, three.west)):
            await one.sever([other.address])
        await three.west.sever([three.control.address, three.east.address])
        cut.append(await took(three.told, ["=gateway-west-a", "gateway-east-a"]))
        for site in (three.control, three.west, three.east):
            await site.sever([])
        healed.append(await took(three.told, both))
    line("west cut off: closed to new work", cut, bound)
    line("healed: open again (1 s of it the hold-down)", healed, "none")

    await three.doors[WEST].aclose()
    assert three.west.operator is not None
    await three.west.operator.kill()
    line("west lost with its gateway: excluded", [await took(three.told, ["gateway-east-a"])], bound)


async def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with grid(Path(folder)) as three:
            await measure(three)


def main() -> None:
    asyncio.run(run())


if __name__ == "__main__":
    main()
