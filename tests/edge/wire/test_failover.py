"""Another endpoint, then another cluster, is tried only while no byte has left, and only so often."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest

from edge.chain import Chain, Exchange, Request, Response, Step, Traits
from edge.wire.faults import Cause, LocalFault, RemoteFault
from edge.wire.pool import Caps, Cluster, Endpoint, Timeouts
from edge.wire.ports import Peer
from tests.kit.backends import OK, Received, Wire, always, backend, free_port
from tests.kit.eventually import eventually
from tests.kit.gateways import ChainService, SendTo, cluster, gateway
from tests.kit.raw_http import client, get, post


async def test_a_refused_connection_moves_a_post_to_the_next_endpoint() -> None:
    async with (
        backend(OK) as upstream,
        gateway(cluster(free_port(), free_port(), upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        for n in range(1, 6):
            assert (await raw.exchange(post(b"once"))).status == 200
            assert len(upstream.received) == n


async def test_attempts_are_bounded() -> None:
    ports = [free_port() for _ in range(5)]
    told: list[int] = []
    made = cluster(*ports, caps=Caps(attempts=2))
    made.watchers.append(lambda endpoint, ok: told.append(endpoint.port if not ok else 0))
    async with gateway(made) as edge, client(edge.port) as raw:
        assert (await raw.exchange(post(b"x"))).status == 502
    assert len(told) == len(set(told) & set(ports)) == 2


async def test_unhealthy_endpoints_are_not_tried() -> None:
    async with backend(OK) as upstream:
        made = Cluster(
            "a", [Endpoint("127.0.0.1", free_port(), healthy=False), Endpoint("127.0.0.1", upstream.port)]
        )
        async with gateway(made) as edge, client(edge.port) as raw:
            assert (await raw.exchange(get())).status == 200
            made.endpoints[1].healthy = False
            reply = await raw.exchange(get())
            assert (reply.status, reply.fields[b"retry-after"]) == (503, b"1")
            assert json.loads(reply.body)["error"]["code"] == "upstream_no_endpoint"


async def test_a_whole_cluster_that_cannot_be_reached_gives_way_to_the_next_one() -> None:
    async with (
        backend(OK) as upstream,
        gateway(cluster(free_port()), cluster(free_port()), cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"x"))).status == 200
        assert len(upstream.received) == 1


async def test_each_cluster_has_its_own_attempts_and_all_together_are_bounded() -> None:
    told: list[int] = []
    clusters = [cluster(*(free_port() for _ in range(5)), caps=Caps(attempts=3)) for _ in range(9)]
    for made in clusters:
        made.watchers.append(lambda endpoint, ok: told.append(endpoint.port if not ok else 0))
    async with gateway(*clusters) as edge, client(edge.port) as raw:
        assert (await raw.exchange(post(b"x"))).status == 502
    assert [len({e.port for e in made.endpoints} & set(told)) for made in clusters] == [
        3,
        3,
        3,
        3,
        3,
        1,
        0,
        0,
        0,
    ]


async def test_when_all_clusters_fail_the_answer_says_so_and_that_nothing_was_sent() -> None:
    async with gateway(cluster(free_port()), cluster(free_port())) as edge, client(edge.port) as raw:
        assert (await raw.exchange(post(b"x"))).status == 502
    assert edge.service.exchanges[0].unsent


async def test_after_a_byte_may_have_left_nothing_else_is_tried() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        wire.reset()

    async with (
        backend(answer) as first,
        backend(OK) as second,
        gateway(cluster(first.port, second.port), cluster(second.port)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"once"))).status == 502
        assert not edge.service.exchanges[0].unsent
    assert (len(first.received), len(second.received)) == (1, 0)


class TrustsUnsent:
    """Believes the hop, as the routing filter does for provider hops."""

    traits = Traits()

    def on_head(self, exchange: Exchange) -> Response | None:
        exchange.trusts_unsent = True
        return None


UNSENT = b"HTTP/1.1 503 Busy\r\nx-ai-provider-unsent: 1\r\ncontent-length: 4\r\n\r\nbusy"


async def test_a_trusted_hop_that_sent_nothing_on_gives_way_to_the_next_cluster() -> None:
    async with (
        backend(UNSENT) as hop,
        backend(OK) as other,
        gateway(cluster(hop.port), cluster(other.port), steps=[Step("trusts", TrustsUnsent())]) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"body"))).body == b"ok"
    assert [request.body for request in (*hop.received, *other.received)] == [b"body", b"body"]


async def test_anybody_elses_word_is_passed_on() -> None:
    async with (
        backend(UNSENT) as hop,
        backend(OK) as other,
        gateway(cluster(hop.port), cluster(other.port)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"body"))).status == 503
    assert other.received == []


@pytest.fixture
def full() -> Iterator[int]:
    """A port whose backlog is full: connecting to it hangs."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]
        for filler in fillers:
            filler.close()


async def test_a_dial_that_hangs_is_given_up_and_the_next_endpoint_tried(full: int) -> None:
    timeouts = Timeouts(connect_s=0.5)
    async with (
        backend(OK) as upstream,
        gateway(cluster(full, upstream.port, timeouts=timeouts)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"x"))).status == 200


async def test_a_dial_that_hangs_everywhere_is_a_504(full: int) -> None:
    async with (
        gateway(cluster(full, timeouts=Timeouts(connect_s=0.1))) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"x"))
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (504, "upstream_connect_timeout")


async def test_attempts_end_when_their_time_is_up(full: int) -> None:
    timeouts = Timeouts(connect_s=0.1, attempts_s=0.05)
    async with (
        backend(OK) as upstream,
        gateway(cluster(full, upstream.port, timeouts=timeouts), cluster(upstream.port)) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"x"))).status == 504
    assert upstream.received == []


async def _hanging(_: Received, wire: Wire) -> None:
    await wire.until_closed()


async def test_no_first_byte_in_time_is_a_504_and_the_upstream_is_aborted() -> None:
    async with (
        backend(_hanging) as upstream,
        gateway(cluster(upstream.port, timeouts=Timeouts(first_byte_s=0.1))) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"x"))
        assert (reply.status, json.loads(reply.body)["error"]["code"]) == (504, "upstream_first_byte_timeout")
        await eventually(lambda: upstream.open == 0, "the upstream connection ended")
        fault = edge.service.exchanges[0].fault
        assert fault is not None
        assert fault.cause is Cause.FIRST_BYTE_TIMEOUT
        assert not fault.unsent


async def test_the_total_time_cuts_a_stream_that_keeps_going() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            await wire.send(b"1\r\nx\r\n")
            await asyncio.sleep(0.02)

    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port, timeouts=Timeouts(total_s=0.3))) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"x"))
        assert (reply.status, reply.whole) == (200, False)
    fault = edge.service.exchanges[0].fault
    assert fault is not None
    assert fault.cause is Cause.TOTAL_TIMEOUT


async def test_a_stream_that_keeps_going_is_not_cut_by_the_idle_time() -> None:
    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _n in range(20):
            await wire.send(b"1\r\nx\r\n")
            await asyncio.sleep(0.06)
        await wire.send(b"0\r\n\r\n")

    async with (
        backend(answer) as upstream,
        gateway(cluster(upstream.port, timeouts=Timeouts(idle_s=1.0))) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"x"))
        assert (reply.body, reply.whole) == (b"x" * 20, True)


async def test_connections_to_a_cluster_are_capped() -> None:
    async with (
        backend(_hanging) as upstream,
        gateway(cluster(upstream.port, caps=Caps(connections=1))) as edge,
        client(edge.port) as one,
        client(edge.port) as two,
    ):
        await one.send(post(b"x"))
        await eventually(lambda: len(upstream.received) == 1, "the first upstream")
        reply = await two.exchange(post(b"y"))
        assert (reply.status, reply.fields[b"retry-after"]) == (503, b"1")
        assert json.loads(reply.body)["error"]["code"] == "upstream_full"


async def test_idle_connections_age_out() -> None:
    async with (
        backend(OK) as upstream,
        gateway(cluster(upstream.port, caps=Caps(idle_s=0.1))) as edge,
        client(edge.port) as raw,
    ):
        await raw.exchange(get())
        await eventually(lambda: upstream.open == 0, "the idle connection ended")
        assert edge.clusters[0].open == 0
        assert (await raw.exchange(get())).status == 200


async def test_a_filter_with_a_bug_after_a_dial_harms_its_own_request_only() -> None:
    class Buggy:
        traits = Traits()

        def on_body(self, exchange: Exchange) -> Response | None:
            def broken(_: object) -> Cluster | None:
                raise RuntimeError("a bug")

            exchange.next_upstream = broken
            exchange.upstream = cluster(free_port())
            return None

    async with backend(always(OK)) as upstream, gateway(cluster(upstream.port)) as edge:
        good = edge.service.chain
        edge.service.chain = type(good)([Step("buggy", Buggy())])
        async with client(edge.port) as raw:
            assert b"internal_error" in (await raw.exchange(post(b"x"))).body
        edge.service.chain = good
        async with client(edge.port) as raw:
            assert (await raw.exchange(get())).status == 200


class Raising(Exchange):
    """A handler with a bug where nothing guards it."""

    def on_unsent(self, fault: RemoteFault) -> Response | Cluster:
        raise RuntimeError("a bug")


async def test_a_handler_that_raises_after_a_dial_ends_its_own_connection_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with backend(OK) as upstream, gateway(cluster(free_port())) as edge:
        made = edge.service
        edge.listener.service = _Opening(made)
        async with client(edge.port) as raw:
            await raw.send(post(b"x"))
            assert await raw.rest() == b""
        edge.listener.service = made
        made.chain = Chain([Step("send_to", SendTo((cluster(upstream.port),)))])
        async with client(edge.port) as raw:
            assert (await raw.exchange(get())).status == 200
    assert "a request's handling failed after a dial" in caplog.text


class _Opening:
    """Opens handlers that raise."""

    def __init__(self, made: ChainService) -> None:
        self._made = made

    def open(self, request: Request, peer: Peer) -> Raising:
        return Raising(self._made.chain, request, peer, lambda: 0.0)

    def refuse(self, fault: LocalFault, peer: Peer) -> Response:
        return self._made.refuse(fault, peer)
