"""What upstreams do wrong: the client is told the truth, and a connection in doubt is never used again."""

from __future__ import annotations

import asyncio
import json

import pytest

from edge.wire.faults import Cause, End
from edge.wire.pool import Timeouts
from tests.kit.backends import OK, Received, Wire, backend, free_port
from tests.kit.eventually import eventually
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import client, get, post

HEAD = b"HTTP/1.1 200 OK\r\n"
LONG = HEAD + b"content-length: 10\r\n\r\n12345"
CHUNKS = HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\n12345\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", id="two framings"
        ),
        pytest.param(HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok", id="two lengths"),
        pytest.param(HEAD + b"content-length: 2, 2\r\n\r\nok", id="a list of lengths"),
        pytest.param(HEAD + b"content-length: -2\r\n\r\nok", id="a negative length"),
        pytest.param(HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="another coding"),
        pytest.param(HEAD + b"transfer-encoding: gzip\r\n\r\n", id="no chunked"),
        pytest.param(
            b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", id="chunked in HTTP/1.0"
        ),
        pytest.param(
            b"HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", id="a switch of protocols"
        ),
        pytest.param(b"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n", id="a status out of range"),
        pytest.param(b"HTTP/1.1 abc\r\n\r\n", id="no status"),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", id="another protocol"),
        pytest.param(HEAD + b"x: a\r\n b\r\ncontent-length: 0\r\n\r\n", id="a folded field"),
        pytest.param(
            HEAD + b"x: " + b"y" * 100_000 + b"\r\ncontent-length: 0\r\n\r\n", id="a head of 100,000 bytes"
        ),
    ],
)
async def test_an_answer_that_cannot_be_trusted_is_a_502(answer: bytes) -> None:
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for n in range(1, 3):
            reply = await raw.exchange(get())
            assert reply.status == 502
            assert json.loads(reply.body)["error"]["code"] == "upstream_protocol"
            assert upstream.opened == n
    assert edge.service.exchanges[0].end is End.COMPLETE
    assert edge.service.exchanges[0].fault is not None


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_no_answer_at_all_is_a_502(reset: bool) -> None:
    async def answer(_: Received, wire: Wire) -> None:
        wire.reset() if reset else wire.finish()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b"x"))
        assert (reply.status, json.loads(reply.body)["error"]["code"]) == (502, "upstream_reset")
    assert len(upstream.received) == 1


@pytest.mark.parametrize(
    "partial", [LONG, CHUNKS, CHUNKS + b"zz\r\n"], ids=["length", "chunked", "a bad chunk"]
)
@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
async def test_a_cut_answer_never_looks_whole(partial: bytes, version: bytes) -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(partial)
        wire.finish()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(get().replace(b"HTTP/1.1", b"HTTP/" + version))
        assert not reply.whole
        assert reply.body in (b"12345", b"")
    assert edge.service.exchanges[0].end is End.UPSTREAM_BROKE


@pytest.mark.parametrize(
    "excess",
    [b"x", b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil", b"HTTP/1.1 2"],
    ids=["a byte", "a second answer", "half an answer"],
)
async def test_bytes_after_an_answer_end_the_connection(excess: bytes) -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(OK + excess)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for n in range(1, 4):
            assert (await raw.exchange(get())).body == b"ok"
            assert upstream.opened == n


async def test_bytes_on_an_idle_connection_end_it() -> None:
    wires: list[Wire] = []

    async def answer(_: Received, wire: Wire) -> None:
        wires.append(wire)
        await wire.send(OK)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.exchange(get())
        await wires[0].send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        await eventually(lambda: not edge.engine.upstreams, "the connection ended")
        assert (await raw.exchange(get())).body == b"ok"
    assert upstream.opened == 2


async def test_a_connection_that_says_close_is_not_used_again() -> None:
    async with (
        backend(HEAD + b"connection: close\r\ncontent-length: 2\r\n\r\nok") as upstream,
        gateway(cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(get())).body == b"ok"
        assert (await raw.exchange(get())).body == b"ok"
    assert upstream.opened == 2


async def test_an_early_answer_while_the_body_is_sent_is_passed_on_and_the_connection_ends() -> None:
    started = asyncio.Event()

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        await started.wait()
        writer.close()

    server = await asyncio.start_server(hasty, "127.0.0.1", 0, limit=1024)
    async with server, gateway(cluster(server.sockets[0].getsockname()[1])) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b"x" * 8_000_000))
        assert (reply.status, reply.body) == (413, b"big")
        await eventually(lambda: not edge.engine.upstreams, "the connection ended")
        started.set()


async def _stale(_: Received, wire: Wire) -> None:
    """Answer once per connection, and close on the second request without a word."""
    if wire.number == 0 and getattr(wire, "answered", False):
        wire.reset()
        return
    wire.answered = True  # type: ignore[attr-defined]
    await wire.send(OK)


async def test_a_stale_connection_is_tried_anew_for_a_safe_request() -> None:
    async with backend(_stale) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.exchange(get())
        assert (await raw.exchange(get(b"/again"))).status == 200
    assert [request.connection for request in upstream.received] == [0, 0, 1]


async def test_a_stale_connection_is_never_tried_anew_for_a_post() -> None:
    async with backend(_stale) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.exchange(get())
        assert (await raw.exchange(post(b"once"))).status == 502
    assert [request.body for request in upstream.received] == [b"", b"once"]


async def test_an_answer_that_has_begun_is_never_tried_anew() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        if len(upstream.received) == 2:
            await wire.send(b"HTTP/1.1 20")
            wire.finish()
        else:
            await wire.send(OK)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.exchange(get())
        assert (await raw.exchange(get())).status == 502
    assert len(upstream.received) == 2


async def test_a_closed_idle_connection_is_noticed_and_a_post_goes_out_on_a_new_one() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(OK)
        wire.finish()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for n in range(1, 4):
            await eventually(lambda: not edge.engine.upstreams, "the idle connection ended")
            assert (await raw.exchange(post(b"x"))).status == 200
            assert upstream.opened == n


async def test_nobody_listening_is_a_502_with_the_byte_count_at_zero() -> None:
    async with gateway(cluster(free_port())) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b"x"))
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (502, "upstream_connect_failed")
    fault = edge.service.exchanges[0].fault
    assert fault is not None
    assert (fault.cause, fault.unsent) == (Cause.REFUSED, True)
    assert b"127.0.0.1" not in reply.body


SSE = HEAD + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(b"data: 1\n\n", b"data: 1\n\nevent: error\ndata: ", id="between events"),
        pytest.param(b'data: {"a', b'data: {"a\n\nevent: error\ndata: ', id="within an event"),
    ],
)
async def test_a_broken_event_stream_ends_with_an_error_event_and_no_clean_end(
    event: bytes, expected: bytes
) -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(SSE + b"%x\r\n%b\r\n" % (len(event), event))
        await asyncio.sleep(0.05)
        wire.reset()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b"{}"))
    assert not reply.whole
    assert reply.body.startswith(expected)
    error = json.loads(reply.body.rpartition(b"data: ")[2])["error"]
    assert (error["code"], error["type"]) == ("upstream_reset", "server_error")
    assert b"[DONE]" not in reply.body


async def test_a_stream_that_was_done_gets_no_error_event() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(
            SSE + b"e\r\ndata: [DONE]\n\n\r\n".replace(b"e\r\n", b"%x\r\n" % len(b"data: [DONE]\n\n"), 1)
        )
        await asyncio.sleep(0.05)
        wire.reset()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b"{}"))
    assert (reply.body, reply.whole) == (b"data: [DONE]\n\n", False)


async def test_a_silent_stream_ends_with_an_error_event_after_its_idle_time() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(SSE + b"9\r\ndata: 1\n\n\r\n")
        await wire.until_closed()

    timeouts = Timeouts(idle_s=0.1)
    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port, timeouts=timeouts)) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"{}"))
        await eventually(lambda: upstream.open == 0, "the upstream connection ended")
    assert b"upstream_idle_timeout" in reply.body
