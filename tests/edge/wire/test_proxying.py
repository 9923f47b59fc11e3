"""What goes through: requests and replies of every framing, with what belongs to one hop left behind."""

from __future__ import annotations

import pytest

from tests.kit.backends import OK, Answer, Received, Wire, always, backend, echo
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import client, get, post


async def test_a_post_arrives_whole_and_its_answer_comes_back() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(post(b'{"model":"m"}', b"/v1/x?a=1"))
    assert (reply.status, reply.body, reply.fields[b"x-target"]) == (200, b'{"model":"m"}', b"/v1/x?a=1")
    assert upstream.received[0].line == b"POST /v1/x?a=1 HTTP/1.1"


async def test_one_connection_serves_many_requests_over_one_upstream_connection() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for n in range(5):
            assert (await raw.exchange(post(b"%d" % n))).body == b"%d" % n
    assert upstream.opened == 1


async def test_fields_for_one_hop_are_left_behind_in_both_directions() -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: x-secret, keep-alive\r\nx-secret: 1\r\n"
        b"keep-alive: timeout=5\r\nproxy-authenticate: Basic\r\nx-kept: 1\r\n\r\nok"
    )
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(
            get(
                b"/",
                b"Connection: X-Hop, keep-alive",
                b"X-Hop: 1",
                b"Keep-Alive: 1",
                b"TE: trailers",
                b"Proxy-Authorization: Basic eA==",
                b"X_Under: 1",
                b"X-Kept: 1",
            )
        )
    assert upstream.received[0].fields == {
        b"host": b"127.0.0.1:%d" % upstream.port,
        b"via": b"1.1 praxis",
        b"x-kept": b"1",
    }
    assert reply.fields == {b"content-length": b"2", b"x-kept": b"1", b"via": b"1.1 praxis"}


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nt: 1\r\n\r\n"


@pytest.mark.parametrize(
    ("method", "answer", "expected"),
    [
        pytest.param(b"GET", CHUNKED, (200, b"abcde", b"chunked", None), id="chunked, trailers dropped"),
        pytest.param(
            b"HEAD",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n",
            (200, b"", None, b"99"),
            id="HEAD keeps the length it has no body for",
        ),
        pytest.param(
            b"HEAD",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            (200, b"", None, None),
            id="HEAD of a chunked resource",
        ),
        pytest.param(b"GET", b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"", None, None), id="204"),
        pytest.param(
            b"GET",
            b"HTTP/1.1 304 N\r\ncontent-length: 5\r\n\r\n",
            (304, b"", None, b"5"),
            id="304 with a length",
        ),
        pytest.param(
            b"GET",
            b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK,
            (200, b"ok", None, b"2"),
            id="interim answers are passed over",
        ),
        pytest.param(
            b"GET",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            (200, b"", None, b"0"),
            id="an empty body",
        ),
    ],
)
async def test_replies_keep_their_meaning_and_the_connection(
    method: bytes, answer: bytes, expected: tuple[int, bytes, bytes | None, bytes | None]
) -> None:
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for _ in range(3):
            reply = await raw.exchange(get().replace(b"GET", method, 1))
            framing = reply.fields.get(b"transfer-encoding"), reply.fields.get(b"content-length")
            assert (reply.status, reply.body, *framing) == expected
            assert reply.whole
    assert upstream.opened == 1


async def _until_close(_: Received, wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\n\r\nall ")
    await wire.send(b"of it")
    wire.finish()


async def test_a_body_that_ends_with_the_connection_is_chunked_for_http_1_1() -> None:
    async with (
        backend(_until_close) as upstream,
        gateway(cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        for _ in range(2):
            reply = await raw.exchange(get())
            assert (reply.body, reply.whole) == (b"all of it", True)
            assert reply.fields[b"transfer-encoding"] == b"chunked"
    assert upstream.opened == 2


@pytest.mark.parametrize(
    "answer", [pytest.param(always(CHUNKED), id="chunked"), pytest.param(_until_close, id="close")]
)
async def test_http_1_0_gets_no_chunks_and_a_close(answer: Answer) -> None:
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(b"GET / HTTP/1.0\r\n\r\n")
        reply = await raw.reply()
        assert (reply.fields[b"connection"], b"transfer-encoding" in reply.fields) == (b"close", False)
        assert reply.body in (b"abcde", b"all of it")


async def test_http_1_0_may_keep_its_connection() -> None:
    async with backend(OK) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for _ in range(2):
            reply = await raw.exchange(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert (reply.body, reply.fields[b"connection"]) == (b"ok", b"keep-alive")


async def test_a_client_that_asks_to_close_is_told_and_closed() -> None:
    async with backend(OK) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        reply = await raw.exchange(get(b"/", b"Connection: close"))
        assert reply.fields[b"connection"] == b"close"
        assert await raw.rest() == b""


async def test_cookies_are_joined_up_and_kept_apart_down() -> None:
    answer = b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 0\r\n\r\n"
    async with backend(answer) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(get(b"/", b"Cookie: a=1", b"Cookie: b=2", b"Accept: x", b"Accept: y"))
        head = await raw.until(b"\r\n\r\n")
    assert upstream.received[0].fields[b"cookie"] == b"a=1; b=2"
    assert upstream.received[0].fields[b"accept"] == b"x, y"
    assert head.count(b"set-cookie") == 2


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 1 << 20, (1 << 20) + 1, 5_000_001])
async def test_bodies_of_any_size_arrive_unchanged(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        for _ in range(2):
            reply = await raw.exchange(post(body))
            assert reply.body == body


async def test_a_chunked_body_is_sent_on_with_its_length() -> None:
    async with backend(echo) as upstream, gateway(cluster(upstream.port)) as edge, client(edge.port) as raw:
        await raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        await raw.send(b"3;ext=1\r\nabc\r\n10000\r\n" + b"z" * 65536 + b"\r\n0\r\nX-Trailer: 1\r\n\r\n")
        reply = await raw.reply()
        assert reply.body == b"abc" + b"z" * 65536
        assert (await raw.exchange(post(b"next"))).body == b"next"
    assert b"x-trailer" not in upstream.received[0].fields
    assert b"transfer-encoding" not in upstream.received[0].fields
