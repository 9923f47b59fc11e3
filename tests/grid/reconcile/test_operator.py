"""The operator as processes on a real API, with real simulators and TLS: the control plane's main job."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from edge.simulator.process import Process
from grid.kube.port import CONFIG_MAP, GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER, Kind
from grid.sync.file import read
from tests.kit import simulators
from tests.kit.certs import Authority
from tests.kit.embedded_api import SYSTEM, EmbeddedApi, embedded_api, prepare
from tests.kit.operators import DEADLINE_S, door, free_port, identity, operator, overlay_of, told
from tests.kit.resources import gateway

EAST, WEST = "provider-east", "provider-west"
EDGES = ("edge-us-east", "edge-eu-west")
HERE, THERE = ["gateway-sim-a", "gateway-sim-b"], ["gateway-sim-c", "gateway-sim-d"]
NEAR_FIRST = {EDGES[0]: [HERE, THERE], EDGES[1]: [THERE, HERE]}
ADMISSION = {
    "pressure": {"minimumStateDuration": "300ms", "recoveryHoldDown": "500ms", "successThreshold": 2}
}


@dataclass
class Grid:
    """An API with the grid's resources, and what they are about."""

    api: EmbeddedApi
    tls: Path
    west: int
    ports: dict[str, int]
    restart: Callable[[], Awaitable[EmbeddedApi]]


async def soon(look: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Until *look* gives *expected*; fails with what it gave last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + DEADLINE_S
    while (seen := await look()) != expected:
        assert loop.time() < deadline, f"{seen!r}, not {expected!r}"
        await asyncio.sleep(0.02)


async def apply(api: EmbeddedApi, kind: Kind, name: str, spec: dict[str, Any], **metadata: Any) -> None:
    await api.client.apply(kind, {"metadata": {"name": name, **metadata}, "spec": spec})


def fingerprint(der: bytes) -> dict[str, list[str]]:
    return {"canonicalFingerprints": [hashlib.sha256(der).hexdigest()]}


@pytest.fixture
async def grid(tmp_path: Path) -> AsyncIterator[Grid]:
    """Two edges, provider-east (ours) with sim-a and sim-b, provider-west with sim-c and sim-d."""
    authority = Authority(tmp_path)
    ours, theirs = (authority.leaf(site, names=(f"{site}.grid.internal",)) for site in (EAST, WEST))
    tls = identity(tmp_path / "tls", authority, ours)
    async with contextlib.AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(contextlib.AsyncExitStack())
        address = free_port()
        api = await cluster.enter_async_context(embedded_api(tmp_path / "cluster", address))
        west = await stack.enter_async_context(door(authority, theirs))
        await prepare(api.client)
        ports = {name: free_port() for name in ("sim-a", "sim-b", "sim-c", "sim-d")}
        for edge, region in zip(EDGES, ("us-east", "eu-west"), strict=True):
            await apply(
                api, GRID_SITE, edge, {"gridNetworkRef": "production", "role": "edge", "region": region}
            )
        await apply(
            api,
            GRID_SITE,
            EAST,
            {"gridNetworkRef": "production", "region": "us-east", "trust": fingerprint(ours.der)},
        )
        endpoint = {"address": f"127.0.0.1:{west}", "tls": {"serverName": f"{WEST}.grid.internal"}}
        spec = {
            "gridNetworkRef": "production",
            "region": "eu-west",
            "trust": fingerprint(theirs.der),
            "gatewayEndpoint": endpoint,
        }
        await apply(api, GRID_SITE, WEST, spec, labels={"place": "west"})
        for name, port in ports.items():
            await apply(api, INFERENCE_PROVIDER, name, provider_spec(name, port))
        refs = [gateway(edge) for edge in EDGES]
        policy: dict[str, Any] = {
            "gatewayRefs": refs,
            "metricsRefreshInterval": "100ms",
            "admissionPolicy": ADMISSION,
        }
        await apply(api, GRID_NETWORK, "production", policy)

        async def restart() -> EmbeddedApi:
            await cluster.aclose()
            return await cluster.enter_async_context(embedded_api(tmp_path / "cluster", address))

        yield Grid(api, tls, west, ports, restart)


def provider_spec(name: str, port: int) -> dict[str, Any]:
    far = {"siteSelector": {"matchLabels": {"place": "west"}}} if name in {"sim-c", "sim-d"} else {}
    return {
        "gridNetworkRef": "production",
        "providerKind": "self_hosted",
        "backendKind": "local",
        "endpoint": f"http://127.0.0.1:{port}",
        "models": [{"name": "shared-model"}],
        "routingClusterRef": f"gateway-{name}",
        "healthCheck": {"interval": "100ms", "timeout": "2s"},
        "metricsConfig": {},
        **far,
    }


@contextlib.asynccontextmanager
async def simulated(grid: Grid, *names: str) -> AsyncIterator[dict[str, Process]]:
    async with contextlib.AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(simulators.running(port=grid.ports[name], pool=name))
            for name in names
        }


async def press(simulator: Process, queue: int | None) -> None:
    """Pins a simulator's queue, or lets it go."""
    async with httpx.AsyncClient(trust_env=False) as http:
        url = f"http://127.0.0.1:{simulator.admin_port}/load"
        answer = await (http.delete(url) if queue is None else http.put(url, json={"queue": queue}))
        assert answer.is_success


async def phase(grid: Grid, kind: Kind, name: str) -> str:
    return str(((await grid.api.client.get(kind, name)).get("status") or {}).get("phase"))


async def tops(grid: Grid, edge: str) -> list[list[str]]:
    """Candidates in two halves: the nearer region's and the farther's, each sorted."""
    found = await told(grid.api, edge)
    return [sorted(found[:2]), sorted(found[2:])]


async def test_the_main_job(grid: Grid) -> None:
    east, west = ["gateway-sim-a", "gateway-sim-b"], ["gateway-sim-c", "gateway-sim-d"]
    async with simulated(grid, "sim-b", "sim-c", "sim-d"), operator(grid.api, grid.tls, EAST) as first:
        async with simulated(grid, "sim-a") as near:
            await soon(lambda: tops(grid, EDGES[0]), [east, west])
            await soon(lambda: tops(grid, EDGES[1]), [west, east])
            await soon(lambda: phase(grid, GRID_NETWORK, "production"), "Active")
            await soon(lambda: phase(grid, GRID_SITE, WEST), "Active")
            await soon(lambda: phase(grid, INFERENCE_PROVIDER, "sim-a"), "Available")

            await press(near["sim-a"], 64)
            await soon(lambda: told_last(grid), "=gateway-sim-a")
            await press(near["sim-a"], None)
            await soon(lambda: tops(grid, EDGES[0]), [east, west])

        await soon(lambda: clusters(grid), ["gateway-sim-b", *west])
        await soon(lambda: phase(grid, INFERENCE_PROVIDER, "sim-a"), "Unavailable")
        assert "refused, provider_unavailable" in await first.explained("production", EDGES[0])

        before = await overlay_of(grid.api, EDGES[0])
        await first.kill()
        async with operator(grid.api, grid.tls, EAST) as second:
            await soon(second.leads, True)
            async with simulated(grid, "sim-a"):
                await soon(lambda: tops(grid, EDGES[0]), [east, west])
            after = await overlay_of(grid.api, EDGES[0])
            assert before is not None
            assert after is not None
            assert (after.revision or 0) > (before.revision or 0)
            assert await second.stop() == 0


async def told_last(grid: Grid) -> str:
    return ((await told(grid.api, EDGES[0])) or [""])[-1]


async def clusters(grid: Grid) -> list[str]:
    return sorted(await told(grid.api, EDGES[0]))


async def test_a_restart_rewrites_nothing(grid: Grid) -> None:
    async with simulated(grid, *grid.ports):
        async with operator(grid.api, grid.tls, EAST) as first:
            await soon(
                lambda: tops(grid, EDGES[0]),
                [["gateway-sim-a", "gateway-sim-b"], ["gateway-sim-c", "gateway-sim-d"]],
            )
            await soon(lambda: phase(grid, GRID_NETWORK, "production"), "Active")
            await quiet(grid)
            await first.kill()
        before = await versions(grid)
        async with operator(grid.api, grid.tls, EAST) as second:
            await soon(second.leads, True)
            await soon(lambda: turned(second, 3), True)
            assert await versions(grid) == before


async def turned(running: Any, times: int) -> bool:
    """Whether its loop has turned *times* since it leads."""
    text = (await running.get("/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("grid_reconcile_seconds_count ")]
    return bool(lines) and float(lines[0].split()[1]) >= times


async def quiet(grid: Grid) -> None:
    """Until nothing was written for a second, and then for two more."""
    last = None
    while (seen := await versions(grid)) != last:
        last = seen
        await asyncio.sleep(1.0)


async def versions(grid: Grid) -> dict[str, str]:
    """Of everything the operator writes, the lease aside."""
    found = {}
    for kind, namespace in (
        (GRID_NETWORK, ""),
        (GRID_SITE, ""),
        (INFERENCE_PROVIDER, ""),
        (CONFIG_MAP, SYSTEM),
    ):
        for document in (await grid.api.client.list(kind, namespace)).items:
            found[f"{kind.name} {document['metadata']['name']}"] = document["metadata"]["resourceVersion"]
    return found


async def test_another_replica_takes_over_and_an_edited_overlay_is_restored(grid: Grid) -> None:
    async with (
        simulated(grid, *grid.ports),
        operator(grid.api, grid.tls, EAST) as first,
    ):
        await soon(first.leads, True)
        async with operator(grid.api, grid.tls, EAST) as second:
            await soon(
                lambda: tops(grid, EDGES[0]),
                [["gateway-sim-a", "gateway-sim-b"], ["gateway-sim-c", "gateway-sim-d"]],
            )
            await soon(second.leads, False)
            await soon(second.ready, 200)
            await first.kill()
            await soon(second.leads, True)
            await soon(lambda: turned(second, 2), True)
            name = f"grid-overlay-production-{EDGES[0]}"
            good = await grid.api.client.get(CONFIG_MAP, name, SYSTEM)
            await grid.api.client.apply(
                CONFIG_MAP,
                {"metadata": {"name": name, "namespace": SYSTEM}, "data": {"grid-config.json": "{}"}},
            )

            async def text() -> str:
                return str((await grid.api.client.get(CONFIG_MAP, name, SYSTEM))["data"]["grid-config.json"])

            await soon(text, good["data"]["grid-config.json"])


async def test_after_the_api_was_restarted_changes_still_come_to_both_files(
    grid: Grid, tmp_path: Path
) -> None:
    """Operator and both followers hold on; the files are what the ConfigMaps hold, before and after."""
    files = {edge: tmp_path / edge / "grid-config.json" for edge in EDGES}
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(simulated(grid, *grid.ports))
        await stack.enter_async_context(operator(grid.api, grid.tls, EAST))
        for edge, file in files.items():
            await soon(partial(tops, grid, edge), NEAR_FIRST[edge])
            await stack.enter_async_context(following(grid, edge, file))
        for edge, file in files.items():
            await soon(partial(in_step, grid, edge, file), True)
        grid.api = await grid.restart()
        drained = {**provider_spec("sim-a", grid.ports["sim-a"]), "trafficPolicy": {"drain": "all"}}
        await apply(grid.api, INFERENCE_PROVIDER, "sim-a", drained)
        await soon(lambda: clusters(grid), ["gateway-sim-b", "gateway-sim-c", "gateway-sim-d"])
        for edge, file in files.items():
            await soon(partial(in_step, grid, edge, file), True)


@contextlib.asynccontextmanager
async def following(grid: Grid, edge: str, file: Path) -> AsyncIterator[None]:
    """overlay-sync for one edge, as a process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "grid.sync.main", "--kubeconfig", str(grid.api.kubeconfig)),
        *("--configmap", f"grid-overlay-production-{edge}", "--output", str(file)),
        *("--expect-network", "production", "--expect-gateway", edge, "--expect-site", edge),
    )
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def in_step(grid: Grid, edge: str, file: Path) -> bool:
    """Whether the file holds the ConfigMap's very bytes."""
    found = await grid.api.client.get(CONFIG_MAP, f"grid-overlay-production-{edge}", SYSTEM)
    text = str(found["data"]["grid-config.json"])
    return await asyncio.to_thread(read, file) == text.encode()
