"""A whole gateway serves, swaps its configuration under load of requests, sheds and drains."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import httpx

from edge.wire.listener import Listener
from edge.wire.pool import Endpoint
from tests.kit import backends
from tests.kit.backends import Received, Wire
from tests.kit.certs import Authority, client_context, server_context
from tests.kit.edges import Edge, edge, write
from tests.kit.eventually import eventually

PROXY = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]{listener}}}
filter_chains:
  - name: main
    filters:
      {filters}
      - filter: router
        routes: [{{path_prefix: /, cluster: east}}]
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: ["127.0.0.1:{port}"]{cluster}}}
{rest}
"""


def proxy(port: int, *, filters: str = "", listener: str = "", cluster: str = "", rest: str = "") -> str:
    return PROXY.format(port=port, filters=filters, listener=listener, cluster=cluster, rest=rest)


def static(body: str, name: str = "main") -> str:
    return f"""
    listeners:
      - {{name: {name}, address: "127.0.0.1:0", filter_chains: [main]}}
    filter_chains:
      - name: main
        filters: [{{filter: static_response, status: 200, body: {body}}}]
    """


async def get(made: Edge, path: str = "/", listener: str = "main") -> httpx.Response:
    async with httpx.AsyncClient(timeout=20) as client:
        return await client.get(made.url(listener) + path)


async def test_requests_reach_their_cluster(tmp_path: Path) -> None:
    async with backends.backend() as backend, edge(tmp_path, proxy(backend.port)) as made:
        answer = await get(made, "/a?b=c")
    assert (answer.status_code, answer.text) == (200, "ok")
    assert backend.received[0].line == b"GET /a?b=c HTTP/1.1"


async def test_another_chain_serves_after_a_reload_on_the_same_connection(tmp_path: Path) -> None:
    async with edge(tmp_path, static("one")) as made, httpx.AsyncClient(timeout=20) as client:
        port = made.port()
        assert (await client.get(made.url())).text == "one"
        write(tmp_path, static("two"))
        assert await made.reloader.reload()
        assert (await client.get(made.url())).text == "two"
        assert made.port() == port


async def test_a_request_in_flight_keeps_its_chain(tmp_path: Path) -> None:
    arrived, go = asyncio.Event(), asyncio.Event()

    async def slow(_: Received, wire: Wire) -> None:
        arrived.set()
        await go.wait()
        await wire.send(backends.OK)

    added = "- {{filter: headers, response_set: [{{name: X-Version, value: '{}'}}]}}"
    async with (
        backends.backend(slow) as backend,
        edge(tmp_path, proxy(backend.port, filters=added.format(1))) as made,
    ):
        first = asyncio.ensure_future(get(made))
        await arrived.wait()
        write(tmp_path, proxy(backend.port, filters=added.format(2)))
        assert await made.reloader.reload()
        go.set()
        assert (await first).headers["x-version"] == "1"
        assert (await get(made)).headers["x-version"] == "2"


async def test_an_unchanged_cluster_keeps_its_connections_over_a_reload(tmp_path: Path) -> None:
    async with backends.backend() as backend, edge(tmp_path, proxy(backend.port)) as made:
        await get(made)
        write(tmp_path, proxy(backend.port, filters="- {filter: request_id}"))
        assert await made.reloader.reload()
        await get(made)
    assert backend.opened == 1
    assert len(backend.received) == 2


async def test_a_limit_survives_a_reload(tmp_path: Path) -> None:
    limit = "- {filter: rate_limit, mode: global, rate: 0.001, burst: 1}"
    async with backends.backend() as backend, edge(tmp_path, proxy(backend.port, filters=limit)) as made:
        assert (await get(made)).status_code == 200
        write(tmp_path, proxy(backend.port, filters=f"- {{filter: request_id}}\n      {limit}"))
        assert await made.reloader.reload()
        assert (await get(made)).status_code == 429


async def test_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    async with edge(tmp_path, static("one")) as made:
        for text in ("nonsense: [", static("two").replace("static_response", "static"), ""):
            write(tmp_path, text)
            assert not await made.reloader.reload()
            assert (await get(made)).text == "one"
        assert made.reloader.rejections == 3
        assert made.outside.metrics.reloads.value("rejected") == 3


async def test_a_file_that_says_the_same_is_not_built(tmp_path: Path) -> None:
    async with edge(tmp_path, static("one")) as made:
        before = made.server.built
        write(tmp_path, static("one"))
        assert not await made.reloader.reload()
        assert made.server.built is before


async def test_listeners_come_and_go(tmp_path: Path) -> None:
    async with edge(tmp_path, static("one")) as made:
        old = made.server.open["main"].listener
        write(tmp_path, static("two", name="other"))
        assert await made.reloader.reload()
        assert (await get(made, listener="other")).text == "two"
        await eventually(lambda: not _accepts(old), "the old listener is closed")


async def test_an_address_that_is_taken_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with edge(tmp_path, static("one")) as made:
            more = f'\n      - {{name: more, address: "127.0.0.1:{taken.getsockname()[1]}", filter_chains: [main]}}'
            write(
                tmp_path, static("two").replace("filter_chains: [main]}", f"filter_chains: [main]}}{more}", 1)
            )
            assert not await made.reloader.reload()
            assert (await get(made)).text == "one"
            assert list(made.server.open) == ["main"]


async def test_a_listener_that_made_room_in_vain_is_opened_again(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    leaf = authority.leaf("api.grid.test", names=("127.0.0.1",))
    port = backends.free_port()
    plain = static("one").replace("127.0.0.1:0", f"127.0.0.1:{port}")
    tls = f"tls: {{certificates: [{{cert_path: {leaf.certificate}, key_path: {leaf.key}}}]}}"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with edge(tmp_path, plain) as made:
            more = f'\n      - {{name: more, address: "127.0.0.1:{taken.getsockname()[1]}", filter_chains: [main]}}'
            write(tmp_path, plain.replace("[main]}", f"[main], {tls}}}{more}", 1))
            assert not await made.reloader.reload()
            assert (await get(made)).text == "one"


async def test_a_cluster_that_is_down_is_503_or_502_without_topology(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    async with edge(tmp_path, proxy(port)) as made:
        answer = await get(made)
    assert answer.status_code in {502, 503}
    assert str(port) not in answer.text
    assert answer.json()["error"]["code"] == "upstream_connect_failed"


async def test_health_checks_take_an_endpoint_out_and_back(tmp_path: Path) -> None:
    well = True

    async def answer(request: Received, wire: Wire) -> None:
        is_check = request.line.startswith(b"GET /health ")
        await wire.send(
            backends.OK if well or not is_check else b"HTTP/1.1 500 E\r\ncontent-length: 0\r\n\r\n"
        )

    check = (
        ", health_check: {type: http, path: /health, interval_ms: 20, timeout_ms: 10, unhealthy_threshold: 2}"
    )
    async with (
        backends.backend(answer) as backend,
        edge(tmp_path, proxy(backend.port, cluster=check)) as made,
    ):
        well = False
        await eventually(lambda: not _endpoint(made).healthy, "unhealthy")
        assert (await get(made)).status_code == 503
        text = made.outside.metrics.metrics.scrape().decode()
        assert 'praxis_upstream_healthy_endpoints{cluster="east"} 0.0' in text
        well = True
        await eventually(lambda: _endpoint(made).healthy, "healthy again")
        assert (await get(made)).status_code == 200


async def test_overload_refuses_new_requests_and_says_when_to_come_back(tmp_path: Path) -> None:
    ballast = bytearray(b"x") * (64 << 20)  # with it this process is over its ceiling, whatever else it holds
    ceiling = "\n    runtime: {max_memory_bytes: 67108864}\n"
    async with edge(tmp_path, static("one") + ceiling) as made:
        deadline = time.monotonic() + 20
        while (answer := await get(made)).status_code != 503:
            assert time.monotonic() < deadline
        assert (answer.headers["retry-after"], answer.headers["connection"]) == ("1", "close")
        assert made.outside.metrics.overload.value("memory") == 1
    assert ballast


async def test_too_many_connections_to_a_listener(tmp_path: Path) -> None:
    text = static("one").replace("filter_chains: [main]}", "filter_chains: [main], max_connections: 1}", 1)
    async with edge(tmp_path, text) as made, httpx.AsyncClient(timeout=20) as first:
        assert (await first.get(made.url())).status_code == 200
        answer = await get(made)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert made.outside.metrics.overload.value("listener_connections") == 1


async def test_too_many_connections_over_all_listeners(tmp_path: Path) -> None:
    text = static("one").rstrip() + "\n    runtime: {max_connections: 1}\n"
    async with edge(tmp_path, text) as made, httpx.AsyncClient(timeout=20) as first:
        await first.get(made.url())
        async with httpx.AsyncClient(timeout=20) as second:
            await second.get(made.url())
            await eventually(lambda: made.server.closed_by == "global_connections", "the gate is closed")
            assert (await second.get(made.url())).status_code == 503
        await eventually(lambda: made.server.closed_by is None, "the gate is open again")
        assert (await first.get(made.url())).status_code == 200


async def test_tracing_and_other_end_to_end_fields_pass_through(tmp_path: Path) -> None:
    fields = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": "a=1,b=2",
        "baggage": "k=v",
    }
    async with (
        backends.backend() as backend,
        edge(tmp_path, proxy(backend.port)) as made,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await client.get(made.url(), headers=fields)
    sent = backend.received[0].fields
    assert {name: sent[name.encode()].decode() for name in fields} == fields


async def test_a_listener_may_change_its_tls_in_place(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    leaf = authority.leaf("api.grid.test", names=("127.0.0.1",))
    port = backends.free_port()
    plain = static("plain").replace("127.0.0.1:0", f"127.0.0.1:{port}")
    tls = f"tls: {{certificates: [{{cert_path: {leaf.certificate}, key_path: {leaf.key}}}]}}"
    async with edge(tmp_path, plain) as made, httpx.AsyncClient(timeout=20) as kept:
        assert (await kept.get(f"http://127.0.0.1:{port}")).text == "plain"
        write(
            tmp_path, plain.replace("body: plain", "body: secret").replace("[main]}", f"[main], {tls}}}", 1)
        )
        assert await made.reloader.reload()
        async with httpx.AsyncClient(timeout=20, verify=client_context(authority)) as secure:
            assert (await secure.get(f"https://127.0.0.1:{port}")).text == "secret"


async def test_a_drain_lets_an_answer_in_progress_end(tmp_path: Path) -> None:
    arrived, go = asyncio.Event(), asyncio.Event()

    async def slow(_: Received, wire: Wire) -> None:
        arrived.set()
        await go.wait()
        await wire.send(backends.OK)

    async with backends.backend(slow) as backend, edge(tmp_path, proxy(backend.port)) as made:
        listener = made.server.open["main"].listener
        first = asyncio.ensure_future(get(made))
        await arrived.wait()
        stopping = asyncio.ensure_future(made.server.stop(30))
        await eventually(lambda: not _accepts(listener), "nobody is accepted any more")
        assert made.server.reasons_not_ready()[0] == "draining"
        assert not stopping.done()
        go.set()
        assert (await first).text == "ok"
        await stopping


async def test_tls_listener_and_mtls_upstream_with_renewed_certificates(tmp_path: Path) -> None:
    grid, public = Authority(tmp_path, "grid-ca"), Authority(tmp_path, "public-ca")
    server, client = grid.leaf("east.grid.internal"), grid.leaf("edge")
    shown = public.leaf("api.grid.test", names=("127.0.0.1",), file="shown")
    tls = f"{{certificates: [{{cert_path: {shown.certificate}, key_path: {shown.key}}}]}}"
    upstream = (
        f", tls: {{sni: east.grid.internal, ca: {{ca_path: {grid.path}}}, "
        f"client_cert: {{cert_path: {client.certificate}, key_path: {client.key}}}}}"
    )
    async with backends.backend(tls=server_context(server, clients=grid)) as backend:
        text = proxy(backend.port, listener=f", tls: {tls}", cluster=upstream)
        async with edge(tmp_path, text) as made:

            async def leaf() -> bytes:
                context = client_context(public)
                reader, writer = await asyncio.open_connection("127.0.0.1", made.port(), ssl=context)
                writer.write(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 200")
                der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
                writer.close()
                assert isinstance(der, bytes)
                return der

            assert await leaf() == shown.der
            renewed = public.leaf("api.grid.test", names=("127.0.0.1",), file="shown")
            assert await made.reloader.reload()
            assert await leaf() == renewed.der
            renewed.key.write_text("not a key")
            assert not await made.reloader.reload()
            assert await leaf() == renewed.der
        await eventually(lambda: backend.open == 0, "the pool has let its connections go")


def _accepts(listener: Listener) -> bool:
    return listener.server is not None and listener.server.is_serving()


def _endpoint(made: Edge) -> Endpoint:
    """Looked up anew each time: a reload may exchange it."""
    assert made.server.built is not None
    return made.server.built.clusters["east"].cluster.endpoints[0]
