"""TLS in and mutual TLS out: names and authorities are checked on both sides, and material is renewed in
use."""

from __future__ import annotations

import json
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from edge.tls import (
    CertificateFiles,
    ListenerFiles,
    ListenerTls,
    UpstreamContext,
    UpstreamFiles,
    peer_identity,
)
from edge.wire.faults import Cause
from edge.wire.pool import Timeouts, UpstreamTls
from tests.kit.backends import Received, Wire, backend, echo
from tests.kit.certs import Authority, Leaf, client_context, server_context
from tests.kit.eventually import eventually
from tests.kit.gateways import cluster, gateway
from tests.kit.raw_http import client, get, post


@dataclass
class Material:
    """One authority for both sides."""

    ca: Authority
    server: Leaf
    client: Leaf


@pytest.fixture
def material(tmp_path: Path) -> Material:
    ca = Authority(tmp_path)
    return Material(ca, ca.leaf("localhost"), ca.leaf("edge", organizations=("praxis-grid",), file="client"))


def _listener(material: Material, mode: str = "none") -> ListenerTls:
    files = CertificateFiles(material.server.certificate, material.server.key)
    if mode == "none":
        return ListenerTls(ListenerFiles((files,)))
    return ListenerTls(ListenerFiles((files,), material.ca.path, "require"))


def _upstream(material: Material, name: str = "localhost", leaf: Leaf | None = None) -> UpstreamTls:
    shown = (
        UpstreamFiles(material.ca.path, leaf.certificate, leaf.key)
        if leaf
        else UpstreamFiles(material.ca.path)
    )
    return UpstreamTls(UpstreamContext(shown), name)


async def test_tls_in_and_mutual_tls_out(material: Material) -> None:
    tls = _upstream(material, leaf=material.client)
    async with (
        backend(echo, tls=server_context(material.server, clients=material.ca)) as upstream,
        gateway(cluster(upstream.port, tls=tls), tls=_listener(material).context) as edge,
        client(edge.port, tls=client_context(material.ca), sni="localhost") as raw,
    ):
        for size in (1, 100_000, 3_000_000):
            assert (await raw.exchange(post(b"x" * size))).body == b"x" * size
    assert upstream.opened == 1
    assert upstream.received[0].fields[b"host"] == b"localhost"


@pytest.mark.parametrize("fault", ["name", "authority", "expired", "plaintext"])
async def test_an_upstream_that_cannot_be_verified_gets_nothing(
    material: Material, tmp_path: Path, fault: str
) -> None:
    foreign = Authority(tmp_path, "foreign")
    leaf = {
        "authority": foreign.leaf("localhost", file="f"),
        "expired": material.ca.leaf("localhost", file="e", expired=True),
    }.get(fault, material.server)
    # A server that speaks no TLS waits for more of what it takes for a request, and so do we.
    cause, expires_s = (Cause.CONNECT_TIMEOUT, 0.3) if fault == "plaintext" else (Cause.TLS, 20.0)
    tls = _upstream(material, "elsewhere.test" if fault == "name" else "localhost")
    context = None if fault == "plaintext" else server_context(leaf)
    async with (
        backend(echo, tls=context) as upstream,
        gateway(cluster(upstream.port, tls=tls, timeouts=Timeouts(connect_s=expires_s))) as edge,
        client(edge.port) as raw,
    ):
        reply = await raw.exchange(post(b"secret"))
        assert json.loads(reply.body)["error"]["code"] == f"upstream_{cause.value}"
        seen = edge.service.exchanges[0].fault
        assert seen is not None
        assert (seen.cause, seen.unsent) == (cause, True)
    assert upstream.received == []


async def test_an_upstream_that_wants_a_certificate_refuses_a_client_without(material: Material) -> None:
    async with (
        backend(echo, tls=server_context(material.server, clients=material.ca)) as upstream,
        gateway(cluster(upstream.port, tls=_upstream(material))) as edge,
        client(edge.port) as raw,
    ):
        assert (await raw.exchange(post(b"x"))).status == 502
    assert upstream.received == []


async def test_the_peer_is_known_by_its_verified_certificate(material: Material) -> None:
    tls = _listener(material, "require")
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), tls=tls.context) as edge,
        client(edge.port, tls=client_context(material.ca, material.client), sni="localhost") as raw,
    ):
        await raw.exchange(get())
        peer = edge.service.exchanges[0].peer
    assert peer.secure
    assert peer.certificate == material.client.der
    assert peer_identity(material.client.der).organization == "praxis-grid"


async def test_without_a_certificate_nothing_is_let_in(material: Material) -> None:
    tls = _listener(material, "require")
    async with backend(echo) as upstream, gateway(cluster(upstream.port), tls=tls.context) as edge:
        with suppress(ssl.SSLError, ConnectionError):
            async with client(edge.port, tls=client_context(material.ca), sni="localhost") as raw:
                await raw.send(get())
                assert await raw.rest() == b""
    assert edge.service.exchanges == []


async def test_plain_http_on_a_tls_port_gets_nowhere(material: Material) -> None:
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), tls=_listener(material).context) as edge,
        client(edge.port) as raw,
    ):
        await raw.send(get())
        assert b"HTTP/1.1" not in await raw.rest()
    assert upstream.received == []


async def test_a_renewed_client_certificate_is_shown_by_the_next_connection(material: Material) -> None:
    shown: list[bytes | None] = []

    async def answer(request: Received, wire: Wire) -> None:
        shown.append(wire.writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        await echo(request, wire)

    context = UpstreamContext(
        UpstreamFiles(material.ca.path, material.client.certificate, material.client.key)
    )
    server = server_context(material.server, clients=material.ca)
    async with backend(answer, tls=server) as upstream:
        made = cluster(upstream.port, tls=UpstreamTls(context, "localhost"))
        async with gateway(made) as edge, client(edge.port) as raw:
            await raw.exchange(post(b"1"))
            renewed = material.ca.leaf("edge", file="client")
            context.reload()
            await raw.exchange(post(b"2"))
            made.purge(made.endpoints[0])
            await raw.exchange(post(b"3"))
    assert shown == [material.client.der, material.client.der, renewed.der]


async def test_a_client_that_leaves_over_tls_ends_the_upstream(material: Material) -> None:
    async with (
        backend(echo) as upstream,
        gateway(cluster(upstream.port), tls=_listener(material).context) as edge,
    ):
        async with client(edge.port, tls=client_context(material.ca), sni="localhost") as raw:
            await raw.exchange(get())
        await eventually(lambda: not edge.listener.connections, "the connection ended")
