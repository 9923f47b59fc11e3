"""Expect: 100-continue is answered here, after the head phase and only when the body is still to come."""

from __future__ import annotations

from edge.chain import Exchange, Response, Step, Traits, refuse
from edge.wire.limits import Limits
from tests.kit.backends import backend, echo
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import client, get

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"


class Refusing:
    """Lets nobody in."""

    traits = Traits()

    def on_head(self, exchange: Exchange) -> Response | None:
        return refuse(exchange, 401, "unauthorized")


async def test_the_body_is_asked_for_once_the_head_has_passed() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(HEAD)
        assert (await raw.reply(interim=True)).status == 100
        await raw.send(b"hello")
        assert (await raw.reply()).body == b"hello"
        assert (await raw.exchange(get())).status == 200
    assert b"expect" not in upstream.received[0].fields


async def test_a_refused_head_never_asks_for_the_body() -> None:
    steps = [Step("refusing", Refusing())]
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), steps=steps) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(HEAD)
        assert (await raw.reply(interim=True)).status == 401
        assert await raw.rest() == b""
    assert upstream.opened == 0


async def test_a_body_over_the_bound_is_refused_before_it_is_asked_for() -> None:
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), limits=Limits(body_bytes=4)) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(HEAD)
        assert (await raw.reply(interim=True)).status == 413


async def test_a_body_that_comes_along_needs_no_asking() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(HEAD + b"hello")
        assert (await raw.reply(interim=True)).status == 200


async def test_an_expectation_of_http_1_0_is_ignored() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"hello")
        assert (await raw.reply(interim=True)).body == b"hello"
