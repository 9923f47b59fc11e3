"""Drain: nobody new, idle connections end, answers in progress end by themselves or at the hard end."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from edge.wire.faults import End
from tests.kit.backends import OK, Received, Wire, backend, echo
from tests.kit.certs import Authority, client_context, server_context
from tests.kit.eventually import eventually
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import client, get, post

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_an_idle_connection_ends_and_nobody_new_is_let_in() -> None:
    async with backend(OK) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.exchange(get())
        port = edge.port
        assert await edge.listener.drain(20) == 0
        assert await raw.rest() == b""
        with pytest.raises(ConnectionError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_an_idle_client_that_does_not_end_its_side_of_tls_holds_nothing_up(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = client_context(authority)

    def connected(port: int) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        made = context.wrap_socket(plain, server_hostname="localhost")
        made.sendall(get())
        assert made.recv(12) == b"HTTP/1.1 200"
        return made

    tls = server_context(authority.leaf("localhost"))
    async with backend(OK) as upstream, gateway(cluster(upstream.port), tls=tls) as edge:
        silent = await asyncio.to_thread(connected, edge.port)
        async with asyncio.timeout(20):  # the transport's own patience is 30 s
            assert await edge.listener.drain(60) == 0
        silent.close()


async def test_a_live_stream_ends_by_itself_and_then_the_connection() -> None:
    go_on = asyncio.Event()

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(STREAM + b"9\r\ndata: 1\n\n\r\n")
        await go_on.wait()
        await wire.send(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(post(b"{}"))
        await raw.until(b"data: 1\n\n\r\n")
        draining = asyncio.ensure_future(edge.listener.drain(20))
        await asyncio.sleep(0)
        go_on.set()
        assert await raw.rest() == b"9\r\ndata: 2\n\n\r\n0\r\n\r\n"
        assert await draining == 0
        assert edge.service.exchanges[0].end is End.COMPLETE


async def test_a_request_in_progress_is_answered_with_a_close() -> None:
    go_on = asyncio.Event()

    async def answer(request: Received, wire: Wire) -> None:
        await go_on.wait()
        await echo(request, wire)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(post(b"x") + post(b"never"))
        await eventually(lambda: len(upstream.received) == 1, "the request upstream")
        draining = asyncio.ensure_future(edge.listener.drain(20))
        await asyncio.sleep(0)
        go_on.set()
        assert (await raw.reply()).fields[b"connection"] == b"close"
        assert await raw.rest() == b""
        assert await draining == 0
    assert len(upstream.received) == 1


async def test_what_outlasts_the_hard_end_is_cut_and_counted() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(STREAM + b"9\r\ndata: 1\n\n\r\n")
        await wire.until_closed()

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(post(b"{}"))
        await raw.until(b"data: 1\n\n\r\n")
        assert await edge.listener.drain(0.1) == 1
        assert b"0\r\n\r\n" not in await raw.rest()
        await eventually(lambda: upstream.open == 0, "the upstream connection ended")
        assert edge.service.exchanges[0].end is End.DRAINED


async def test_a_swapped_service_serves_new_requests_and_old_ones_keep_theirs() -> None:
    go_on = asyncio.Event()

    async def slow(request: Received, wire: Wire) -> None:
        await go_on.wait()
        await echo(request, wire)

    async with (
        backend(slow) as old,
        backend(OK) as new,
        gateway(cluster(old.port)) as edge,
        gateway(cluster(new.port)) as other,
        client(edge.port) as one,
        client(edge.port) as two,
    ):
        await one.send(post(b"old"))
        await eventually(lambda: len(old.received) == 1, "the first upstream")
        edge.listener.service = other.service
        assert (await two.exchange(get())).body == b"ok"
        go_on.set()
        assert (await one.reply()).body == b"old"
        assert (await one.exchange(get())).body == b"ok"
