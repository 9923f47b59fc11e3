"""An operator process and an overlay-sync on a real API: memory and time at size, and from a change to the file.

Goals: 120 MB resident with 1,000 sites, 5,000 provider-models and 10 gateways; change to file p99 50 ms. The API
is an embedded cluster in a process of its own; the operator's allocator is set as `grid/deploy` sets it. Ten
overlays of 300 KB are ten server-side applies, which the API reads as YAML, at a quarter of a second each: what a
change takes here is mostly that.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from grid.kube.client import Client, connect
from grid.kube.port import CONFIG_MAP, GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER, Kind, KubeFault
from grid.sync import file
from tests.bench.embedded_parts import cpu_s, resident_mb
from tests.kit.certs import Authority
from tests.kit.embedded_api import SYSTEM, EmbeddedApi, prepare
from tests.kit.embedded_cluster import EmbeddedCluster
from tests.kit.operators import Operator, identity, operator
from tests.kit.overlays import candidate, document, encoded
from tests.kit.resources import gateway, network, provider, site

SITES, PROVIDERS, MODELS, GATEWAYS, CHANGES = 1_000, 500, 10, 10, 200
HERE = "edge-0"
DEPLOYMENT = Path(__file__).parents[2] / "grid" / "deploy" / "workload" / "deployment.yaml"


async def eventually(look: Callable[[], Awaitable[bool]], within_s: float = 300.0) -> None:
    until = time.monotonic() + within_s
    while not await look():
        assert time.monotonic() < until, "it does not come to be"
        await asyncio.sleep(0.005)


async def put(client: Client, kind: Kind, made: Iterable[dict[str, Any]]) -> None:
    """Creates them, some at a time."""
    waiting = list(made)
    for start in range(0, len(waiting), 50):
        async with asyncio.TaskGroup() as group:
            for each in waiting[start : start + 50]:
                metadata = {"name": each["metadata"]["name"]}
                group.create_task(client.create(kind, {"metadata": metadata, "spec": each["spec"]}))


def sites(pin: str) -> Iterable[dict[str, Any]]:
    """A thousand providers' sites, and those of the gateways; ours is the first."""
    endpoint = {"address": "127.0.0.1:1", "tls": {"serverName": "a.grid.internal"}}
    for number in range(SITES):
        trust = {"canonicalFingerprints": [hashlib.sha256(b"%d" % number).hexdigest()]}
        yield site(f"site-{number:04}", f"region-{number % 12}", gatewayEndpoint=endpoint, trust=trust)
    for number in range(GATEWAYS):
        own = {"trust": {"canonicalFingerprints": [pin]}} if number == 0 else {}
        yield site(f"edge-{number}", f"region-{number}", "edge", **own)


def providers() -> Iterable[dict[str, Any]]:
    """5,000 provider-models of our own site, which needs nobody to prove it: ten of each of 500 models."""
    for number in range(PROVIDERS):
        models = [f"model-{(number * MODELS + place) % 500}" for place in range(MODELS)]
        yield provider(f"provider-{number}", *models, routingClusterRef=f"gateway-{number}")


@contextlib.asynccontextmanager
async def api() -> AsyncIterator[tuple[EmbeddedApi, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = EmbeddedCluster(Path(folder) / "cluster")
        await asyncio.to_thread(cluster.start)
        client = await connect("", str(cluster.kubeconfig))
        try:
            await prepare(client)
            yield EmbeddedApi(cluster.kubeconfig, client), Path(folder)
        finally:
            await client.close()
            await asyncio.to_thread(cluster.stop)


async def stored(client: Client, gateway_name: str) -> str:
    """The text of a gateway's overlay; empty where there is none."""
    try:
        found = await client.get(CONFIG_MAP, f"grid-overlay-production-{gateway_name}", SYSTEM)
    except KubeFault:
        return ""
    return str(found["data"]["grid-config.json"])


async def at_size() -> None:
    async with api() as (cluster, folder):
        authority = Authority(folder)
        leaf = authority.leaf(HERE)
        tls = identity(folder / "tls", authority, leaf)
        await put(cluster.client, GRID_SITE, sites(hashlib.sha256(leaf.der).hexdigest()))
        await put(cluster.client, INFERENCE_PROVIDER, providers())
        refs = [gateway(f"edge-{number}") for number in range(GATEWAYS)]
        await put(cluster.client, GRID_NETWORK, [network("production", *refs)])
        began = time.perf_counter()
        async with operator(cluster, tls, HERE, GRID_PROBE_EVERY_S="60", **deployed("MALLOC_")) as running:
            await eventually(lambda: full(cluster.client))
            print(f"{'first overlays':>22}: {time.perf_counter() - began:6.2f} s after the start")
            await settled(cluster.client)
            pid = running.process.pid
            print(f"{'resident':>22}: {resident_mb(pid):6.0f} MiB (goal 120 MB), peak {peak_mb(pid):.0f} MiB")
            await quiet(running, pid)
            await changed(cluster.client)
            print(f"{'resident at the end':>22}: {resident_mb(pid):6.0f} MiB, peak {peak_mb(pid):.0f} MiB")


def deployed(prefix: str) -> dict[str, str]:
    """What `grid/deploy` sets of the environment, of names that begin so."""
    made = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))
    (container,) = made["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"] if each["name"].startswith(prefix)}


async def full(client: Client) -> bool:
    texts = [await stored(client, f"edge-{number}") for number in range(GATEWAYS)]
    return all(text.count('"stable_id"') == 1024 for text in texts)


async def settled(client: Client) -> None:
    """Until every resource's status is written."""

    async def written() -> bool:
        kinds = (GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER)
        statuses = [item.get("status") for kind in kinds for item in (await client.list(kind)).items]
        return all(statuses)

    await eventually(written)


async def quiet(running: Operator, pid: int) -> None:
    before, began = cpu_s(pid), time.perf_counter()
    await asyncio.sleep(10)
    share = (cpu_s(pid) - before) / (time.perf_counter() - began)
    print(f"{'nothing happens':>22}: {share:6.1%} of a core")


async def changed(client: Client) -> None:
    """From a drain to the overlay without the provider."""
    found = []
    for number in range(10):
        name, spec = f"provider-{number}", next(p for i, p in enumerate(providers()) if i == number)["spec"]
        began = time.perf_counter()
        drained = {**spec, "trafficPolicy": {"drain": "all"}}
        await client.apply(INFERENCE_PROVIDER, {"metadata": {"name": name}, "spec": drained})

        async def gone(number: int = number) -> bool:
            return f'"gateway-{number}"' not in await stored(client, "edge-3")

        await eventually(gone)
        found.append(time.perf_counter() - began)
    print(
        f"{'drained to overlay':>22}: median {statistics.median(found):.2f} s, worst {max(found):.2f} s, API included"
    )


async def followed() -> None:
    """From the answer to a change of the ConfigMap to its bytes in the file: a process, its watch, its disk."""
    async with api() as (cluster, folder):
        output = folder / "out" / "grid-config.json"
        process = None
        found = []
        try:
            for revision in range(1, CHANGES + 1):
                data = encoded(document([candidate(fresh=revision % 2 == 0)], revision=revision))
                made = {
                    "metadata": {"name": "cm", "namespace": SYSTEM},
                    "data": {"grid-config.json": data.decode()},
                }
                await cluster.client.apply(CONFIG_MAP, made)
                began = time.perf_counter()
                if process is None:
                    process = await follower(cluster, output)
                await eventually(lambda data=data: holds(output, data))  # type: ignore[misc]
                found.append((time.perf_counter() - began) * 1000)
        finally:
            if process is not None:
                process.terminate()
                await process.wait()
    taken = sorted(found[1:])
    p99 = taken[int(len(taken) * 0.99)]
    print(f"{'change to file':>22}: median {statistics.median(taken):.1f} ms, p99 {p99:.1f} ms (goal 50 ms)")


async def follower(cluster: EmbeddedApi, output: Path) -> asyncio.subprocess.Process:
    words = ("--kubeconfig", str(cluster.kubeconfig), "--configmap", "cm", "--output", str(output))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "grid.sync.main", *words, stdout=asyncio.subprocess.DEVNULL
    )


async def holds(output: Path, data: bytes) -> bool:
    return file.read(output) == data


def peak_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def main() -> None:
    """Prints each number beside its goal."""
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    asyncio.run(followed())
    asyncio.run(at_size())


if __name__ == "__main__":
    main()
