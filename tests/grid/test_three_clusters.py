"""Three clusters, an operator each, joined through seeds: what west offers, edge-control's edge is told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from grid.kube.port import GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER
from tests.kit import simulators
from tests.kit.grids import CONTROL, EAST, EDGE, KEY, WEST, Grid, Site, declare, grid, pins, seal
from tests.kit.operators import overlay_of

DEADLINE_S = 150.0
"""Six processes share a machine that may have much else to do."""


async def soon(look: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Until *look* gives *expected*; fails with what it gave last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + DEADLINE_S
    while (seen := await look()) != expected:
        assert loop.time() < deadline, f"{seen!r}, not {expected!r}"
        await asyncio.sleep(0.02)


@pytest.fixture
async def three(tmp_path: Path) -> AsyncIterator[Grid]:
    """All three run, west and east offer a provider each, and the edge is told of both."""
    async with grid(tmp_path) as made:
        await asyncio.gather(made.east.start(), made.west.start(), made.control.start())
        await made.east.provide("east-a")
        await made.west.provide("west-a")
        await soon(made.told, ["gateway-east-a", "gateway-west-a"])
        yield made


async def test_what_west_declares_and_removes_edge_control_follows(three: Grid) -> None:
    await soon(lambda: three.control.phase(WEST), "Active")
    await soon(lambda: three.control.phase(CONTROL), "Active")
    assert three.control.operator is not None
    scraped = (await three.control.operator.get("/metrics")).text
    assert 'grid_mesh_members{network="production",state="alive"} 2.0' in scraped
    assert 'grid_mesh_agreed_age_seconds{network="production"}' in scraped
    found = await three.control.client.get(GRID_SITE, WEST)
    assert found["spec"]["gatewayEndpoint"]["tls"]["serverName"] == "provider-west.grid.internal"
    await three.west.provide("west-b")
    await soon(three.told, ["gateway-east-a", "gateway-west-a", "gateway-west-b"])
    await three.west.provide("west-b", trafficPolicy={"drain": "existingOnly"})
    await soon(three.told, ["=gateway-west-b", "gateway-east-a", "gateway-west-a"])
    await three.west.client.delete(INFERENCE_PROVIDER, "west-b")
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])


async def test_a_site_whose_network_goes_has_left_and_one_that_is_told_to_end_has_not(three: Grid) -> None:
    assert three.east.operator is not None
    assert await three.east.operator.stop() == 0
    assert (await three.control.members())[EAST] in {"alive", "suspect"}
    await three.east.start()
    await three.west.client.delete(GRID_NETWORK, "production")
    await soon(three.told, ["gateway-east-a"])
    await soon(three.control.members, {EAST: "alive", WEST: "left"})
    await soon(lambda: three.control.phase(WEST), "Left")
    await declare(three.west.client, GRID_NETWORK, "production", three.west.wanted)
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])


async def test_pressure_measured_in_west_closes_its_provider_in_the_overlay(three: Grid) -> None:
    async with simulators.running(pool="west-m") as simulator:
        endpoint = f"http://127.0.0.1:{simulator.port}"
        await three.west.provide(
            "west-m", endpoint=endpoint, metricsConfig={}, healthCheck={"interval": "200ms"}
        )
        await soon(three.told, ["gateway-east-a", "gateway-west-a", "gateway-west-m"])
        await press(simulator.admin_port, 64)
        await soon(three.told, ["=gateway-west-m", "gateway-east-a", "gateway-west-a"])
        await press(simulator.admin_port, None)
        await soon(three.told, ["gateway-east-a", "gateway-west-a", "gateway-west-m"])
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])


async def press(port: int, queue: int | None) -> None:
    """Pins a simulator's queue, or lets it go."""
    async with httpx.AsyncClient(trust_env=False) as http:
        url = f"http://127.0.0.1:{port}/load"
        answer = await (http.delete(url) if queue is None else http.put(url, json={"queue": queue}))
        assert answer.is_success


async def test_an_operator_that_restarts_takes_nothing_from_the_overlay(three: Grid) -> None:
    before = await overlay_of(three.control.api, EDGE)
    assert before is not None
    assert three.control.operator is not None
    await three.control.operator.kill()
    again = await three.control.start()
    await soon(again.leads, True)

    async def knows() -> dict[str, str]:
        assert await three.told() == ["gateway-east-a", "gateway-west-a"]
        return await three.control.members()

    await soon(knows, {EAST: "alive", WEST: "alive"})
    await three.west.provide("west-b")
    await soon(three.told, ["gateway-east-a", "gateway-west-a", "gateway-west-b"])
    after = await overlay_of(three.control.api, EDGE)
    assert after is not None
    assert after.revision == (before.revision or 0) + 1, "nothing but west-b was news"


async def test_a_site_nobody_declared_is_found_and_trusted_only_once_it_is_pinned(tmp_path: Path) -> None:
    async with grid(tmp_path, declared=False) as made:
        await asyncio.gather(made.east.start(), made.west.start(), made.control.start())
        await made.west.provide("west-a")
        await soon(lambda: made.control.phase(WEST), "Connecting")
        found = await made.control.client.get(GRID_SITE, WEST)
        assert found["spec"]["region"] == "eu-west"
        assert found["spec"]["gatewayEndpoint"]["tls"]["serverName"] == "provider-west.grid.internal"
        assert await made.told() == []
        await declare(
            made.control.client,
            GRID_SITE,
            WEST,
            {"gridNetworkRef": "production", "trust": pins(made.east.leaf)},
        )
        await soon(lambda: made.control.condition("Ready", WEST), ("False", "PinMismatch"))
        assert await made.told() == []
        await declare(
            made.control.client,
            GRID_SITE,
            WEST,
            {"gridNetworkRef": "production", "trust": pins(made.west.leaf)},
        )
        await soon(lambda: made.control.phase(WEST), "Active")
        await soon(made.told, ["gateway-west-a"])
        await soon(lambda: made.control.certificate(WEST), made.west.leaf.certificate.read_text())


async def test_a_malformed_key_is_said_and_the_site_stays_out(tmp_path: Path) -> None:
    async with grid(tmp_path) as made:
        await seal(made.west.client, b"too short")
        await asyncio.gather(made.east.start(), made.west.start(), made.control.start())
        await soon(lambda: made.west.condition("MeshRunning"), ("False", "SwimKeyMalformed"))
        await soon(lambda: made.control.condition("MeshRunning"), ("True", "Running"))
        await soon(made.control.members, {EAST: "alive"})


async def test_a_site_that_is_lost_takes_nothing(three: Grid) -> None:
    assert three.west.operator is not None
    await three.doors[WEST].aclose()
    await three.west.operator.kill()
    await soon(three.told, ["gateway-east-a"])
    await soon(three.control.members, {EAST: "alive", WEST: "dead"})
    await soon(lambda: three.control.phase(WEST), "Unreachable")


async def test_an_operator_that_is_lost_before_a_gateway_that_answers_keeps_its_sessions_for_a_while(
    three: Grid,
) -> None:
    assert three.west.operator is not None
    await three.west.operator.kill()
    await soon(three.told, ["=gateway-west-a", "gateway-east-a"])
    await declare(three.control.client, GRID_NETWORK, "production", three.control.network_spec(ttl_s=1))
    await soon(three.told, ["gateway-east-a"])
    await three.west.start()
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])
    await soon(three.control.members, {EAST: "alive", WEST: "alive"})


async def test_a_partition_closes_the_far_side_to_new_work_and_heals_to_one_state(three: Grid) -> None:
    await three.control.sever([three.west.address])
    await three.west.sever([three.control.address])
    await three.east.sever([three.west.address])
    await soon(three.told, ["=gateway-west-a", "gateway-east-a"])
    await three.west.provide("west-during")

    async def lives() -> bool:
        """A leader that lost its lease meanwhile, on a machine with much to do, has not heard of it at all."""
        return (await three.control.members()).get(WEST) == "alive"

    await soon(lives, False)
    assert await three.told() == ["=gateway-west-a", "gateway-east-a"], "the last state is kept"
    for site in (three.control, three.west, three.east):
        await site.sever([])
    await soon(three.told, ["gateway-east-a", "gateway-west-a", "gateway-west-during"])
    for site in (three.control, three.west, three.east):
        others = {EAST, WEST, CONTROL} - {site.name}
        await soon(site.members, dict.fromkeys(sorted(others), "alive"))


async def test_an_operator_that_is_stopped_and_goes_on_is_one_of_them_again(three: Grid) -> None:
    assert three.west.operator is not None
    three.west.operator.process.send_signal(signal.SIGSTOP)
    await soon(three.told, ["=gateway-west-a", "gateway-east-a"])
    three.west.operator.process.send_signal(signal.SIGCONT)
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])
    await soon(three.west.members, {EAST: "alive", CONTROL: "alive"})


async def test_two_that_are_killed_at_once_come_back(three: Grid) -> None:
    assert three.west.operator is not None
    assert three.east.operator is not None
    await asyncio.gather(three.west.operator.kill(), three.east.operator.kill())
    await soon(three.told, ["=gateway-east-a", "=gateway-west-a"])
    await asyncio.gather(three.west.start(), three.east.start())
    await soon(three.told, ["gateway-east-a", "gateway-west-a"])


def storm(address: str, stop: threading.Event) -> None:
    """Random datagrams, and connections that say nothing or nonsense, until it is over."""
    host, port = address.split(":")
    chance = random.Random(7)
    with contextlib.ExitStack() as stack, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in itertools.count():
            if stop.is_set():
                return
            sender.sendto(b"GRID\x01" + chance.randbytes(chance.randrange(1, 1500)), (host, int(port)))
            if number % 50 == 0 and number < 5_000:
                one = stack.enter_context(socket.create_connection((host, int(port)), 10))
                with contextlib.suppress(OSError):
                    one.sendall(chance.randbytes(chance.randrange(0, 64)))
                time.sleep(0.001)


async def test_a_storm_on_the_port_keeps_nobody_from_speaking(three: Grid) -> None:
    stop = threading.Event()
    storming = asyncio.get_running_loop().run_in_executor(None, storm, three.west.address, stop)
    try:
        for number in range(5):
            await three.west.provide(f"west-{number}")
            await soon(
                three.told,
                ["gateway-east-a", *(f"gateway-west-{n}" for n in range(number + 1)), "gateway-west-a"],
            )
    finally:
        stop.set()
        await storming
    assert await three.control.members() == {EAST: "alive", WEST: "alive"}


@pytest.mark.long
async def test_the_key_rotates_in_three_clusters_under_traffic(three: Grid) -> None:
    """Each step in one cluster after the other; nobody is suspected, and nothing is dropped as not authentic."""
    sites, other = (three.east, three.west, three.control), bytes(range(32, 64))
    refused, suspected = (
        'grid_mesh_datagrams{outcome="not_authentic"}',
        'grid_mesh_events{event="suspicions"',
    )
    before = [(await counted(site, refused), await counted(site, suspected)) for site in sites]
    for number, keys in enumerate(((KEY, other), (other, KEY), (other, b""))):
        for site in sites:
            await seal(site.client, *keys)
        for site in sites:
            await soon(partial(rekeyed, site), number + 1)
        await three.west.provide(f"west-{number}")
        await soon(
            three.told,
            ["gateway-east-a", *(f"gateway-west-{n}" for n in range(number + 1)), "gateway-west-a"],
        )
    assert [(await counted(site, refused), await counted(site, suspected)) for site in sites] == before


async def counted(site: Site, series: str) -> float:
    assert site.operator is not None
    lines = (await site.operator.get("/metrics")).text.splitlines()
    return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(series))


async def rekeyed(site: Site) -> float:
    return await counted(site, 'grid_mesh_events{event="rekeyed",network="production"}')
