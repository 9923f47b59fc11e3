"""The operator's and overlay-sync's shells: 500 scrapes at once, a change to a file, and a large World's memory.

Goals: 500 scrapes in 3 s; change to file p99 50 ms (here over the fake API: what the follower itself costs);
120 MB resident with 1,000 sites and 5,000 providers. Sleeps are paced by what is measured, not by luck.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import tempfile
import time
from pathlib import Path

from grid.contract.overlay import Scope
from grid.crd.provider import MetricsConfig
from grid.kube.port import CONFIG_MAP
from grid.reconcile.decide import decide
from grid.reconcile.network import Memory
from grid.reconcile.scrape import Probe, Prober, session
from grid.sync import metrics
from grid.sync.shell import Source, Syncer
from tests.bench.grid_world import large
from tests.kit.eventually import eventually
from tests.kit.fake_kube import FakeKube
from tests.kit.overlays import candidate, document, encoded
from tests.kit.worlds import NOW, carried_out

SCRAPES = 500
CHANGES = 200
BODY = b"praxis_sim_queue_ratio 0.5\nvllm:kv_cache_usage_perc 0.25\n" + b"# other metrics\n" * 1000


async def scrapes() -> float:
    """Seconds until 500 providers have been scraped once, each with its own connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=SCRAPES)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/metrics"
    async with (
        server,
        session() as http,
        asyncio.TaskGroup() as group,
    ):
        heard = asyncio.Event()
        prober = Prober(http, time.time, lambda: heard.set() if prober.heard() else None, lambda: 0.0)
        probe = Probe(url, 60.0, 30.0, config=MetricsConfig())
        began = time.perf_counter()
        prober.keep(group, {(f"p{number}", "metrics"): probe for number in range(SCRAPES)})
        await heard.wait()
        taken = time.perf_counter() - began
        prober.stop()
    assert all(reading.signals.queue == 0.5 for reading in prober.readings.values())
    return taken


async def changes() -> list[float]:
    """Milliseconds from a change of the ConfigMap to its bytes in the file."""
    kube, found = FakeKube(), []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "grid-config.json"
        counted = metrics.SyncMetrics(lambda: syncer.following, time.time)
        source = Source("ns", "cm", "grid-config.json", Scope())
        syncer = Syncer(kube, source, output, counted, time.time, lambda: 0.0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(syncer.run())
            for revision in range(1, CHANGES + 1):
                data = encoded(document([candidate(fresh=revision % 2 == 0)], revision=revision))
                began = time.perf_counter()
                made = {
                    "metadata": {"name": "cm", "namespace": "ns"},
                    "data": {"grid-config.json": data.decode()},
                }
                await kube.apply(CONFIG_MAP, made)
                await eventually(lambda data=data: syncer.following.good == data, "the change")  # type: ignore[misc]
                found.append((time.perf_counter() - began) * 1000)
            task.cancel()
    return found


def resident_mb() -> float:
    """Resident memory with a large World decided on twice."""
    world, memory = large(), Memory()
    for _ in range(2):
        decision = decide(world, memory, NOW)
        world, memory = carried_out(world, decision.actions), decision.memory
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096 / 1e6


def main() -> None:
    """Prints what each took."""
    print(f"{SCRAPES} scrapes at once: {asyncio.run(scrapes()):.2f} s (goal 3 s)")
    taken = sorted(asyncio.run(changes()))
    p99 = taken[int(len(taken) * 0.99)]
    print(
        f"{CHANGES} changes to the file: median {statistics.median(taken):.1f} ms, p99 {p99:.1f} ms (goal 50 ms)"
    )
    print(
        f"a large World: {resident_mb():.0f} MB resident, the benchmark's own modules with it (goal 120 MB)"
    )


if __name__ == "__main__":
    main()
