"""Clients that leave, stall, trickle or flood: their work ends at once and what they can cost is bounded."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from edge.wire.faults import End
from edge.wire.limits import Limits
from tests.kit.backends import OK, Answer, Received, Wire, backend, echo, free_port
from tests.kit.eventually import eventually
from tests.kit.gateways import Gateway, cluster, gateway
from tests.kit.raw_http import Closed, RawClient, client, get, post

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def _hanging(_: Received, wire: Wire) -> None:
    await wire.until_closed()


async def _streaming(_: Received, wire: Wire) -> None:
    await wire.send(STREAM + b"3\r\nabc\r\n")
    await wire.until_closed()


@pytest.mark.parametrize("answer", [_hanging, _streaming], ids=["before the answer", "in mid-stream"])
@pytest.mark.parametrize("leave", [RawClient.close, RawClient.reset, RawClient.half_close])
async def test_a_client_that_leaves_ends_the_upstream_connection(
    answer: Answer, leave: Callable[[RawClient], None]
) -> None:
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(post(b"{}"))
        await eventually(lambda: len(upstream.received) == 1, "the request upstream")
        if answer is _streaming:
            await raw.until(b"abc\r\n")
        leave(raw)
        await eventually(lambda: upstream.open == 0, "the upstream connection ended")
        await eventually(lambda: not edge.listener.connections, "the client's connection ended")
        assert edge.service.exchanges[0].end is End.CLIENT_GONE
        assert edge.clusters[0].endpoints[0].in_flight == edge.clusters[0].open == 0


async def test_the_upstream_is_aborted_in_the_same_turn_of_the_loop() -> None:
    async with (
        backend(_hanging) as upstream,
        gateway(cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(post(b"{}"))
        await eventually(lambda: len(upstream.received) == 1, "the request upstream")
        (connection,) = edge.listener.connections
        connection.eof_received()
        (leading,) = edge.engine.upstreams
        assert leading.transport is not None
        assert leading.transport.is_closing()


async def test_a_client_that_leaves_during_the_dial_ends_it() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:  # a full backlog: further connections hang
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        async with gateway(cluster(full.getsockname()[1])) as edge, client(edge.port) as raw:
            await raw.send(post(b"{}"))
            await eventually(lambda: edge.clusters[0].open == 1, "the dial")
            raw.close()
            await eventually(lambda: edge.clusters[0].open == 0, "the dial ended")
        for filler in fillers:
            filler.close()


async def test_half_close_is_served_where_it_is_allowed() -> None:
    released = asyncio.Event()

    async def answer(request: Received, wire: Wire) -> None:
        await released.wait()
        await echo(request, wire)

    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port), limits=Limits(half_close=True)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(post(b"1") + post(b"2"))
        raw.half_close()
        await eventually(lambda: len(upstream.received) == 1, "the request upstream")
        released.set()
        assert (await raw.reply()).body == b"1"
        last = await raw.reply()
        assert (last.body, last.fields[b"connection"]) == (b"2", b"close")
        assert await raw.rest() == b""


async def test_half_close_during_a_stream_closes_after_it() -> None:
    go_on = asyncio.Event()

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(STREAM + b"3\r\nabc\r\n")
        await go_on.wait()
        await wire.send(b"0\r\n\r\n")

    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port), limits=Limits(half_close=True)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(post(b"{}"))
        await raw.until(b"abc\r\n")
        raw.half_close()
        go_on.set()
        assert await raw.rest() == b"0\r\n\r\n"


async def test_the_body_is_let_go_once_the_reply_has_begun() -> None:
    async with (
        backend(_streaming) as upstream,
        gateway(cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(post(b"x" * 100_000))
        await raw.until(b"abc\r\n")
        request = edge.service.exchanges[0].request
        assert (request.body, request.declared_length) == (b"", 100_000)


async def test_a_client_that_does_not_read_stops_the_upstream_and_memory_stays_bounded() -> None:
    sent = 0

    async def firehose(_: Received, wire: Wire) -> None:
        nonlocal sent
        await wire.send(STREAM)
        while True:
            await wire.send(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
            sent += 0x8000

    async with (
        backend(firehose) as upstream,
        gateway(cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        raw.stop_reading()
        await raw.send(post(b"{}"))
        await eventually(lambda: sent > 0, "the first chunk")
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        (connection,) = edge.listener.connections
        assert connection.paused
        assert connection.buffered < 512 * 1024
        assert sent < 64 * 1024 * 1024
        raw.read_again()
        await eventually(lambda: sent > before, "the stream went on")


async def test_a_client_that_never_reads_again_is_cut() -> None:
    async def firehose(_: Received, wire: Wire) -> None:
        await wire.send(STREAM)
        while True:
            await wire.send(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")

    async with (
        backend(firehose) as upstream,
        gateway(cluster(upstream.port), limits=Limits(stall_s=0.3)) as edge,
        client(edge.port) as raw,
    ):
        raw.stop_reading()
        await raw.send(post(b"{}"))
        await eventually(lambda: upstream.opened == 1 and upstream.open == 0, "the upstream connection ended")
        assert edge.service.exchanges[0].end is End.CLIENT_STALLED


async def test_a_slow_reader_gets_everything() -> None:
    body = bytes(range(256)) * 40_000

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(get())
        await raw.until(b"\r\n\r\n")
        received = b""
        while len(received) < len(body):
            received += await raw.read(min(100_000, len(body) - len(received)))
            await asyncio.sleep(0)
        assert received == body


SLOW = Limits(head_s=0.2, body_idle_s=0.2, body_s=0.4, keepalive_s=0.6, linger_s=0.2)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: ", 408, id="half a head"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe", 408, id="half a body"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", 408, id="half a chunk"
        ),
    ],
)
async def test_what_does_not_come_in_time_is_answered_408_and_closed(sent: bytes, status: int) -> None:
    async with gateway(cluster(free_port()), limits=SLOW) as edge, client(edge.port) as raw:
        await raw.send(sent)
        assert (await raw.reply()).status == status
        assert await raw.rest() == b""


async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with backend(OK) as upstream, gateway(cluster(upstream.port), limits=SLOW) as edge:
        async with client(edge.port) as raw:
            assert await raw.rest() == b""
        async with client(edge.port) as raw:
            await raw.exchange(get())
            assert await raw.rest() == b""


@pytest.mark.parametrize("prefix", [b"", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"])
async def test_trickling_bytes_do_not_buy_time(prefix: bytes) -> None:
    async with gateway(cluster(free_port()), limits=SLOW) as edge, client(edge.port) as raw:
        await raw.send(prefix)

        async def trickle() -> None:
            for byte in b"GET / HTTP/1.1\r\nX: " + b"y" * 10_000:
                await raw.send(bytes((byte,)))
                await asyncio.sleep(0.02)

        task = asyncio.ensure_future(trickle())
        assert (await raw.reply()).status == 408
        task.cancel()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(post(b"x" * 1001), id="declared"),
        pytest.param(post(b"x" * 200_000), id="declared and long"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
            + b"x" * 1001
            + b"\r\n",
            id="chunked",
        ),
    ],
)
async def test_a_body_over_the_bound_is_a_413_that_can_be_read(sent: bytes) -> None:
    async with (
        gateway(cluster(free_port()), limits=Limits(body_bytes=1000)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(sent)
        reply = await raw.reply()
        assert reply.status == 413
        assert b"request_too_large" in reply.body


async def test_a_body_at_the_bound_passes() -> None:
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), limits=Limits(body_bytes=1000)) as edge,
        client(edge.port) as raw,
    ):
        assert len((await raw.exchange(post(b"x" * 1000))).body) == 1000


async def test_more_connections_than_allowed_are_told_to_come_back() -> None:
    async with (
        backend(OK) as upstream,
        gateway(cluster(upstream.port), max_connections=1) as edge,
        client(edge.port) as first,
        client(edge.port) as second,
    ):
        reply = await second.exchange(get())
        assert (reply.status, reply.fields[b"retry-after"]) == (503, b"1")
        assert await second.rest() == b""
        assert (await first.exchange(get())).status == 200


async def test_far_more_connections_than_allowed_are_closed() -> None:
    async with gateway(cluster(free_port()), max_connections=1) as edge:
        closed = 0
        clients = [await asyncio.open_connection("127.0.0.1", edge.port) for _ in range(100)]
        for reader, _ in clients[70:]:
            async with asyncio.timeout(20):
                closed += await reader.read(1) == b""
        for _, writer in clients:
            writer.close()
        assert closed == 30


async def _left(edge: Gateway) -> tuple[int, int, int]:
    endpoint = edge.clusters[0].endpoints[0]
    return len(edge.listener.connections), endpoint.in_flight, endpoint.open - len(endpoint.idle)


async def test_a_storm_of_leaving_clients_leaves_nothing_behind() -> None:
    async def answer(request: Received, wire: Wire) -> None:
        if request.body == b"reset":
            wire.reset()
        elif request.body == b"cut":
            await wire.send(STREAM + b"3\r\nabc\r\n")
            wire.reset()
        else:
            await _streaming(request, wire)

    async def visit(edge: Gateway, n: int) -> None:
        async with client(edge.port) as raw:
            await raw.send(post((b"reset", b"cut", b"stream")[n % 3]))
            try:
                if n % 3 == 2:
                    await raw.until(b"abc\r\n")
                else:
                    await raw.reply()
            except (Closed, asyncio.IncompleteReadError):
                pass
            raw.reset() if n % 2 else raw.close()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge:
        tasks = len(asyncio.all_tasks())
        for _ in range(4):
            await asyncio.gather(*(visit(edge, n) for n in range(60)))
        await eventually(lambda: not edge.listener.connections, "clients gone")
        await eventually(lambda: not edge.engine.upstreams, "upstreams gone")
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks, "tasks gone")
        assert await _left(edge) == (0, 0, 0)
        assert len(edge.engine.wheel) == 0
        assert all(exchange.end is not None for exchange in edge.service.exchanges)
        assert len(edge.service.exchanges) == 240
