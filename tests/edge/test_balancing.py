"""A whole gateway spreads requests over real backends as each strategy, weight and threshold says."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from edge.wire.pool import Cluster
from tests.kit import backends
from tests.kit.backends import Backend, Received, Wire
from tests.kit.edges import Edge, edge, write
from tests.kit.eventually import eventually

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: forwarded_headers, trusted_proxies: ["127.0.0.0/8"]}}
      - filter: router
        routes: [{{path_prefix: /, cluster: east}}]
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: [{endpoints}], {more}}}
"""


def text(ports: Sequence[int], more: str, weights: Sequence[int] = ()) -> str:
    shares = [*weights, *(1 for _ in ports[len(weights) :])]
    pairs = zip(ports, shares, strict=True)
    endpoints = ", ".join(f'{{address: "127.0.0.1:{port}", weight: {weight}}}' for port, weight in pairs)
    return TEXT.format(endpoints=endpoints, more=more)


@asynccontextmanager
async def three() -> AsyncIterator[tuple[Backend, ...]]:
    async with AsyncExitStack() as stack:
        yield tuple([await stack.enter_async_context(backends.backend()) for _ in range(3)])


def ports(made: Sequence[Backend]) -> list[int]:
    return [backend.port for backend in made]


def counts(made: Sequence[Backend]) -> list[int]:
    return [len(backend.received) for backend in made]


def cluster_of(made: Edge) -> Cluster:
    assert made.server.built is not None
    return made.server.built.clusters["east"].cluster


async def ask(made: Edge, *requests: tuple[str, Mapping[str, str]]) -> None:
    async with httpx.AsyncClient(timeout=30) as client:
        for path, headers in requests:
            answer = await client.get(made.url() + path, headers=headers)
            assert answer.status_code == 200


@pytest.mark.parametrize("strategy", ["round_robin", "least_connections"])
async def test_weights_are_kept(tmp_path: Path, strategy: str) -> None:
    async with (
        three() as made,
        edge(tmp_path, text(ports(made), f"load_balancer_strategy: {strategy}", (3, 2, 1))) as gateway,
    ):
        await ask(gateway, *[("/", {})] * 24)
        assert all(abs(n - m) <= 1 for n, m in zip(counts(made), (12, 8, 4), strict=True))


async def test_two_choices_leave_a_busy_endpoint_alone(tmp_path: Path) -> None:
    go, held = asyncio.Event(), asyncio.Event()

    async def slow(_: Received, wire: Wire) -> None:
        held.set()
        await go.wait()
        await wire.send(backends.OK)

    async with (
        backends.backend(slow) as busy,
        backends.backend() as free,
        edge(tmp_path, text([busy.port, free.port], "load_balancer_strategy: p2c")) as gateway,
        httpx.AsyncClient(timeout=30) as client,
    ):
        waiting = []
        while not held.is_set():  # half of them find both idle and draw the slow one
            waiting.append(asyncio.ensure_future(client.get(gateway.url())))
            await asyncio.wait([waiting[-1]], timeout=0.05)
        before = len(free.received)
        await ask(gateway, *[("/", {})] * 20)
        assert len(free.received) == before + 20
        go.set()
        assert [(await answer).status_code for answer in waiting] == [200] * len(waiting)


@pytest.mark.parametrize(
    ("options", "requests"),
    [
        pytest.param("{header: X-User}", [("/", {"x-user": f"u{n}"}) for n in range(30)], id="header"),
        pytest.param("{header: X-User}", [(f"/{n}?q={n}", {}) for n in range(30)], id="no header: the path"),
        pytest.param("{}", [(f"/{n}", {}) for n in range(30)], id="path"),
        pytest.param(
            "{key: client_address}",
            [("/", {"x-forwarded-for": f"192.0.2.{n}"}) for n in range(30)],
            id="client address",
        ),
    ],
)
async def test_a_key_stays_with_its_endpoint(
    tmp_path: Path, options: str, requests: list[tuple[str, dict[str, str]]]
) -> None:
    async with (
        three() as made,
        edge(
            tmp_path, text(ports(made), f"load_balancer_strategy: {{consistent_hash: {options}}}")
        ) as gateway,
    ):
        await ask(gateway, *requests)
        first = counts(made)
        assert min(first) > 0
        await ask(gateway, *reversed(requests))
        assert counts(made) == [2 * n for n in first]


async def test_a_reload_without_one_endpoint_moves_its_keys_alone(tmp_path: Path) -> None:
    strategy = "load_balancer_strategy: {consistent_hash: {header: X-User}}"
    users = [f"u{n}" for n in range(30)]
    async with three() as made, edge(tmp_path, text(ports(made), strategy)) as gateway:
        await ask(gateway, *[("/", {"x-user": user}) for user in users])
        before = [_users(backend) for backend in made]
        write(tmp_path, text(ports(made)[:2], strategy))
        assert await gateway.reloader.reload()
        await ask(gateway, *[("/", {"x-user": user}) for user in users])
        after = [_users(backend) for backend in made]
    assert after[2] == before[2]
    for n in (0, 1):
        assert set(after[n]) - set(before[n]) <= set(before[2])
        assert all(after[n][user] == 2 for user in before[n])


def _users(backend: Backend) -> Counter[bytes]:
    return Counter(request.fields[b"x-user"] for request in backend.received)


async def test_a_key_whose_endpoint_is_down_is_served_by_another(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with backends.backend() as up:
            strategy = "load_balancer_strategy: {consistent_hash: {header: X-User}}"
            async with edge(tmp_path, text([closed.getsockname()[1], up.port], strategy)) as gateway:
                await ask(gateway, *[("/", {"x-user": f"u{n}"}) for n in range(20)])
        assert len(up.received) == 20


async def test_panic_asks_all_and_is_seen(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    well = True

    async def answer(request: Received, wire: Wire) -> None:
        sick = request.line.startswith(b"GET /health ") and not well
        await wire.send(b"HTTP/1.1 500 E\r\ncontent-length: 0\r\n\r\n" if sick else backends.OK)

    check = "health_check: {type: http, path: /health, interval_ms: 20, timeout_ms: 10, panic_threshold_percent: 1}"
    async with (
        backends.backend(answer) as one,
        backends.backend(answer) as two,
        edge(tmp_path, text([one.port, two.port], check)) as gateway,
    ):
        cluster = cluster_of(gateway)
        assert "praxis_upstream_panic" in _metrics(gateway)
        well = False
        await eventually(lambda: not any(e.healthy for e in cluster.endpoints), "unhealthy")
        assert 'praxis_upstream_panic{cluster="east"} 1.0' in _metrics(gateway)
        await ask(gateway, *[("/ask", {})] * 8)
        assert [_asked(backend) for backend in (one, two)] == [4, 4]
        well = True
        await eventually(lambda: all(e.healthy for e in cluster.endpoints), "healthy")
        assert 'praxis_upstream_panic{cluster="east"} 0.0' in _metrics(gateway)
    states = [record.__dict__["state"] for record in caplog.records if record.message == "panic mode"]
    assert (states[0], states[-1]) == ("on", "off")


def _asked(backend: Backend) -> int:
    return sum(request.line.startswith(b"GET /ask ") for request in backend.received)


def _metrics(gateway: Edge) -> str:
    return gateway.outside.metrics.metrics.scrape().decode()
