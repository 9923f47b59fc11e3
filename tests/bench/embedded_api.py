"""The embedded API beside a bare aiohttp handler over TLS: start, requests, watches, lists, pods, memory.

All in one run and interleaved, since machines are noisy; processor time stands beside what a clock
shows wherever another's load would blur it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import uvloop

from tests.bench.embedded_parts import bare, cpu_s, resident_mb, watches
from tests.kit.embedded_cluster import MERGE, EmbeddedCluster, config_map
from tests.kit.embedded_node import EmbeddedNode, deployment, server

MAPS = "/api/v1/namespaces/default/configmaps"
STARTS = 3
ROUNDS = 6
REQUESTS = 300
WATCHERS = 100
EVENTS = 100
LISTED = 10_000
CONCURRENT = 8
Make = Callable[[int], tuple[str, Any]]


def main() -> None:
    """Prints each number beside its goal."""
    for _ in range(STARTS):
        with _started(say=True):
            pass
    with _started(say=False) as (node, pid):
        cluster = node.cluster
        with bare(cluster.folder / "pki") as peer:
            _requests(cluster, peer)
        with cluster.client() as client:
            _pods(client)
            uvloop.run(_watched(cluster, pid))
            _lists(client)
        print(f"memory then: {resident_mb(pid):.0f} MB")


@contextlib.contextmanager
def _started(*, say: bool) -> Iterator[tuple[EmbeddedNode, int]]:
    """A cluster with its node, ready."""
    with tempfile.TemporaryDirectory() as folder:
        node = EmbeddedNode(Path(folder))
        began = time.perf_counter()
        node.cluster.start()
        try:
            with node.cluster.client() as client:
                while not _node_is_ready(client):
                    time.sleep(0.005)
            taken = time.perf_counter() - began
            pid = int((node.cluster.folder / "pid").read_text())
            if say:
                cost = f"{cpu_s(pid):.2f} s of processor time, {resident_mb(pid):.0f} MB (goal 90)"
                print(f"start to a ready node: {taken:.2f} s (goal 1), {cost}")
            yield node, pid
        finally:
            node.cluster.stop()


def _node_is_ready(client: httpx.Client) -> bool:
    found = client.get("/api/v1/nodes").json()["items"]
    conditions = [c for node in found for c in node["status"]["conditions"]]
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _requests(cluster: EmbeddedCluster, peer: str) -> None:
    context = cluster.context()
    body = config_map("x", k="v")
    rows: tuple[tuple[str, str, float, Make, Make], ...] = (
        ("create", "POST", 0.12, lambda n: (MAPS, config_map(f"c{n}", k="v")), lambda _: (MAPS, body)),
        ("get", "GET", 0.5, lambda n: (f"{MAPS}/c{n}", None), lambda n: (f"{MAPS}/c{n}", None)),
    )
    for name, method, goal, ours, theirs in rows:
        mine, other = [], []
        for number in range(ROUNDS):
            start = number * REQUESTS
            mine.append(asyncio.run(_rate(cluster.url, context, method, ours, start)))
            other.append(asyncio.run(_rate(peer, context, method, theirs, start)))
        ratio = statistics.median(m / o for m, o in zip(mine, other, strict=True))
        rates = f"{statistics.median(mine):.0f}/s, bare {statistics.median(other):.0f}/s"
        print(f"{name}: {rates}: {ratio:.2f} of it (goal {goal}; median of {ROUNDS} pairs)")


async def _rate(url: str, context: ssl.SSLContext, method: str, make: Make, start: int) -> float:
    """Requests a second over kept-alive connections. make: number -> (path, body)."""
    connector = aiohttp.TCPConnector(limit=CONCURRENT, ssl=context)
    numbers = iter(range(start, start + REQUESTS))

    async with aiohttp.ClientSession(url, connector=connector) as session:

        async def worker() -> None:
            for number in numbers:
                path, body = make(number)
                async with session.request(method, path, json=body) as answer:
                    await answer.read()

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENT):
                group.create_task(worker())
        return REQUESTS / (time.perf_counter() - began)


def _pods(client: httpx.Client) -> None:
    for number in range(3):
        began = time.perf_counter()
        path = "/apis/apps/v1/namespaces/default/deployments"
        client.post(path, json=deployment(f"d{number}", 2, server())).raise_for_status()
        while client.get(f"{path}/d{number}").json().get("status", {}).get("availableReplicas") != 2:
            time.sleep(0.01)
        print(f"a Deployment of 2 Available after {time.perf_counter() - began:.2f} s (goal 1)")
        client.delete(f"{path}/d{number}")


async def _watched(cluster: EmbeddedCluster, pid: int) -> None:
    """From a patch's send to each watcher's bytes."""
    context = cluster.context()
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(cluster.url, connector=connector) as session:
        async with session.get(MAPS, params={"limit": "1"}) as answer:
            version = (await answer.json())["metadata"]["resourceVersion"]
        path = f"{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=300"
        for count in (1, WATCHERS):
            opened = await watches(cluster.url, context, path, count)
            before = cpu_s(pid)
            sent = await _patch(session, count)
            for watch in opened:
                await watch.reached(list(sent)[-1])
            spent = 1000 * (cpu_s(pid) - before) / EVENTS
            found = sorted(1000 * (at - sent[m]) for watch in opened for m, at in watch.seen if m in sent)
            p50, p99 = statistics.median(found), found[int(len(found) * 0.99)]
            print(f"watch, {count} watchers: p50 {p50:.1f} ms, p99 {p99:.1f} ms (goal 15), ", end="")
            print(f"{spent:.1f} ms of processor time an event")
            for watch in opened:
                watch.transport.close()


async def _patch(session: aiohttp.ClientSession, count: int) -> dict[str, float]:
    """Mark -> when it was sent, in order."""
    sent: dict[str, float] = {}
    for number in range(EVENTS):
        mark = f"{count}-{number}"
        sent[mark] = time.perf_counter()
        patch, headers = {"data": {"k": mark}}, {"Content-Type": MERGE}
        async with session.patch(f"{MAPS}/c0", json=patch, headers=headers) as answer:
            await answer.read()
        await asyncio.sleep(0.03)
    return sent


def _lists(client: httpx.Client) -> None:
    held = len(client.get(MAPS).json()["items"])
    for number in range(LISTED - held):
        client.post(MAPS, json=config_map(f"l{number}", k="v"))
    for _ in range(3):
        began = time.perf_counter()
        size = len(client.get(MAPS).content)
        print(f"{LISTED} ConfigMaps, {size / 1e6:.1f} MB: {time.perf_counter() - began:.2f} s (goal 1)")
