"""Requests sent ahead are answered in order, each with its own answer, however they arrive."""

from __future__ import annotations

import asyncio

import pytest

from edge.wire.limits import Limits
from tests.kit.backends import Received, Wire, backend, echo
from tests.kit.eventually import eventually
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import Closed, client, get, post

TWO = post(b"first", b"/1") + post(b"second", b"/2")


@pytest.mark.parametrize("step", [len(TWO), 1, 7, 64], ids=["one segment", "byte by byte", "by 7", "by 64"])
async def test_two_requests_get_their_own_answers_in_order(step: int) -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for at in range(0, len(TWO), step):
            await raw.send(TWO[at : at + step])
        answers = [await raw.reply(), await raw.reply()]
    assert [(a.fields[b"x-target"], a.body) for a in answers] == [(b"/1", b"first"), (b"/2", b"second")]


async def test_a_slow_first_answer_is_not_overtaken() -> None:
    released = asyncio.Event()

    async def answer(request: Received, wire: Wire) -> None:
        if request.line.startswith(b"POST /1"):
            await released.wait()
        await echo(request, wire)

    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(TWO + get(b"/3"))
        await eventually(lambda: len(upstream.received) == 1, "the first upstream")
        released.set()
        targets = [(await raw.reply()).fields[b"x-target"] for _ in range(3)]
    assert targets == [b"/1", b"/2", b"/3"]


async def test_a_local_answer_keeps_its_place() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(get(b"/1") + b"GET /2 HTTP/1.1\r\nHost: a\r\nExpect: nothing\r\n\r\n" + get(b"/3"))
        assert (await raw.reply()).fields[b"x-target"] == b"/1"
        assert (await raw.reply()).status == 417
        assert await raw.rest() == b""
    assert [request.line.split()[1] for request in upstream.received] == [b"/1"]


async def test_more_than_the_bound_are_answered_up_to_it_and_the_connection_ends() -> None:
    limits = Limits(pipelined=4)
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), limits=limits) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(b"".join(get(b"/%d" % n) for n in range(50)))
        served = 0
        while True:
            try:
                assert (await raw.reply()).fields[b"x-target"] == b"/%d" % served
                served += 1
            except Closed:
                break
    assert 4 <= served < 50


async def test_too_many_sent_during_a_stream_end_the_connection_after_it() -> None:
    go_on = asyncio.Event()

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await go_on.wait()
        await wire.send(b"0\r\n\r\n")

    limits = Limits(pipelined=2)
    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port), limits=limits) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(get())
        await raw.until(b"abc\r\n")
        await raw.send(get() * 10)
        go_on.set()
        rest = await raw.rest()
    assert rest.count(b"abc") in (1, 2)
    assert rest.endswith(b"0\r\n\r\n")


async def test_a_thousand_in_a_row_on_one_connection() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for n in range(250):
            await raw.send(b"".join(post(b"%d" % (4 * n + k)) for k in range(4)))
            assert [(await raw.reply()).body for _ in range(4)] == [b"%d" % (4 * n + k) for k in range(4)]


async def test_a_connection_ends_after_its_number_of_requests_and_says_so() -> None:
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), limits=Limits(requests=3)) as edge,
        client(edge.port) as raw,
    ):
        connections = [(await raw.exchange(get())).fields.get(b"connection") for _ in range(3)]
        assert connections == [None, None, b"close"]
        assert await raw.rest() == b""


async def test_a_large_body_behind_a_small_request_waits_its_turn() -> None:
    large = b"z" * 300_000
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        sending = asyncio.ensure_future(raw.send(get(b"/1") + post(large, b"/2") + get(b"/3")))
        assert (await raw.reply()).fields[b"x-target"] == b"/1"
        assert (await raw.reply()).body == large
        assert (await raw.reply()).fields[b"x-target"] == b"/3"
        await sending
