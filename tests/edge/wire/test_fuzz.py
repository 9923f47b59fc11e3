"""Any bytes from either side: valid answers or a close, no traceback, nothing left behind, memory bounded.

Runs a quarter of a minute for each side; EDGE_FUZZ_S=600 makes it ten minutes for both. The seed is printed,
EDGE_FUZZ_SEED repeats it; in CI it is the same in every run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import resource
import time
from collections.abc import Callable, Coroutine

import pytest

from edge.wire.limits import Limits
from edge.wire.pool import Timeouts
from tests.edge.wire.smuggling import CORPUS
from tests.kit.backends import OK, Received, Wire, backend, echo
from tests.kit.eventually import eventually
from tests.kit.gateways import Gateway, cluster, gateway
from tests.kit.raw_http import Closed, RawClient, client, get, post

FUZZ_S = float(os.environ.get("EDGE_FUZZ_S", "30")) / 2
SEED = int(
    os.environ.get("EDGE_FUZZ_SEED") or (1 if os.environ.get("CI") else time.time_ns() % 1_000_000_007)
)
MAX_GROWTH_KB = 96 * 1024
LIMITS = Limits(head_s=1, body_idle_s=1, body_s=2, keepalive_s=1, linger_s=0.3)

REQUESTS = [row.raw for row in CORPUS if len(row.raw) < 3_000] + [get() * 5, post(b"{}") * 3]
REPLIES = [
    OK,
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    b"HTTP/1.1 503 Busy\r\nx-ai-provider-unsent: 1\r\ncontent-length: 0\r\n\r\n",
]
TOKENS = [b"\r\n", b"\n", b"\r", b"\x00", b" ", b"\t", b":", b",", b"0", b"-1", b"chunked", b"gzip"]
TOKENS += [b"\r\n\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"HTTP/1.1", b"\xff" * 9]


def _mutated(rng: random.Random, pool: list[bytes]) -> bytes:
    data = bytearray(rng.choice(pool))
    for _ in range(rng.choice((0, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at:at] = rng.choice(TOKENS)
            case 1:
                del data[at : at + rng.randrange(1, 9)]
            case 2:
                data[at : at + 1] = bytes((rng.randrange(256),))
            case 3:
                data[at:at] = rng.randbytes(rng.randrange(1, 40))
            case _:
                data += rng.choice(pool)
    return bytes(data)


async def _until(
    rng: random.Random, edge: Gateway, visit: Callable[[int], Coroutine[None, None, None]]
) -> int:
    """Rounds side by side until the time is up."""
    deadline, rounds = time.monotonic() + FUZZ_S, 0
    while time.monotonic() < deadline:
        await asyncio.gather(*(visit(rng.getrandbits(32)) for _ in range(16)))
        edge.service.exchanges.clear()
        rounds += 16
    return rounds


async def _send_in_pieces(rng: random.Random, raw: RawClient, data: bytes) -> None:
    for cut in sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 1, 3)))):
        await raw.send(data[:cut])
        data = data[cut:]
        await asyncio.sleep(0)
    await raw.send(data)


async def _read_valid_replies(raw: RawClient) -> None:
    """Only whole, well-formed replies, the last one perhaps cut, and then the end. RawClient asserts the
    form."""
    try:
        while True:
            reply = await raw.reply(interim=True)
            assert 100 <= reply.status < 600
    except Closed:
        pass


@pytest.fixture
def no_traceback(caplog: pytest.LogCaptureFixture) -> Callable[[], None]:
    """Called at the end: nothing was logged as an error, which is where loops and chains put exceptions."""
    caplog.set_level(logging.ERROR)

    def check() -> None:
        assert [record.getMessage() for record in caplog.records] == []

    return check


async def test_any_bytes_from_clients(no_traceback: Callable[[], None]) -> None:
    print(f"EDGE_FUZZ_SEED={SEED}")  # noqa: T201 - a run that fails must tell its seed
    rng = random.Random(SEED)
    async with backend(_answer_anything) as upstream, gateway(cluster(upstream.port), limits=LIMITS) as edge:

        async def visit(seed: int) -> None:
            own = random.Random(seed)
            async with client(edge.port) as raw:
                data = _mutated(own, REQUESTS)
                await _send_in_pieces(own, raw, data)
                if own.random() < 0.9:
                    raw.half_close()
                    # Only who knows which reply is a HEAD's can tell where the next one begins.
                    await (raw.rest() if b"HEAD" in data else _read_valid_replies(raw))

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert await _until(rng, edge, visit) > 0
        await eventually(lambda: not edge.listener.connections, "connections ended")
        await eventually(lambda: edge.clusters[0].endpoints[0].in_flight == 0, "exchanges ended")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KB
    no_traceback()


async def _answer_anything(request: Received, wire: Wire) -> None:
    if request.line.startswith((b"GET", b"POST", b"HEAD")):
        await echo(request, wire)
    else:
        await wire.send(OK)


async def test_any_bytes_from_upstreams(no_traceback: Callable[[], None]) -> None:
    print(f"EDGE_FUZZ_SEED={SEED}")  # noqa: T201 - a run that fails must tell its seed
    rng = random.Random(SEED)

    async def answer(_: Received, wire: Wire) -> None:
        data = _mutated(rng, REPLIES)
        for cut in sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 1, 2)))):
            await wire.send(data[:cut])
            data = data[cut:]
            await asyncio.sleep(0)
        await wire.send(data)
        if rng.random() < 0.8:
            wire.reset() if rng.random() < 0.3 else wire.finish()

    timeouts = Timeouts(first_byte_s=0.5, idle_s=0.5)
    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port, timeouts=timeouts), limits=LIMITS) as edge,
    ):

        async def visit(seed: int) -> None:
            async with client(edge.port) as raw:
                await raw.send(get() if seed % 2 else post(b"{}"))
                reply = await raw.reply()
                assert 200 <= reply.status < 600

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert await _until(rng, edge, visit) > 0
        await eventually(lambda: not edge.listener.connections, "connections ended")
        endpoint = edge.clusters[0].endpoints[0]
        await eventually(lambda: endpoint.in_flight == 0, "exchanges ended")
        assert endpoint.open == len(endpoint.idle)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KB
    no_traceback()
