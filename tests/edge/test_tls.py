"""TLS contexts serve the right name, refuse what they must, are renewed while in use, and say who a peer
is."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from edge.tls import (
    CertificateFiles,
    ClientCertMode,
    ListenerFiles,
    ListenerTls,
    TlsUnusable,
    UpstreamContext,
    UpstreamFiles,
    leaf_digest,
    peer_identity,
)
from tests.kit.certs import Authority, Leaf, client_context
from tests.kit.eventually import eventually


@asynccontextmanager
async def _serving(tls: ListenerTls) -> AsyncIterator[int]:
    """A server that says one word to whoever completes the handshake and is let in."""

    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if tls.vets(writer.get_extra_info("ssl_object")):
            writer.write(b"hello\n")
        writer.close()

    server = await asyncio.start_server(hello, "127.0.0.1", 0, ssl=tls.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _shown(port: int, context: ssl.SSLContext, name: str) -> bytes:
    """The DER the server shows to a client that asks for *name*; reads the word, since under TLS 1.3 a
    refused client certificate only shows on reading."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    try:
        assert await reader.readline() == b"hello\n"
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(der, bytes)
        return der
    finally:
        writer.transport.abort()


def _files(leaf: Leaf, *names: str, default: bool = False) -> CertificateFiles:
    return CertificateFiles(leaf.certificate, leaf.key, names, default)


def _session(port: int, context: ssl.SSLContext, resume: ssl.SSLSession | None) -> ssl.SSLSession | None:
    """Connect, perhaps resuming a session, hear the word, and keep the session; blocking."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as raw,
        context.wrap_socket(raw, server_hostname="localhost", session=resume) as tls,
    ):
        assert tls.recv(6) == b"hello\n"
        return tls.session


REFUSED = (ssl.SSLError, ConnectionError, AssertionError, asyncio.IncompleteReadError)


async def test_each_name_gets_its_certificate(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    one, two, wild = ca.leaf("one.test"), ca.leaf("two.test"), ca.leaf("*.wild.test")
    tls = ListenerTls(
        ListenerFiles((_files(one, "one.test"), _files(two, "two.test"), _files(wild, "*.wild.test")))
    )
    async with _serving(tls) as port:
        assert await _shown(port, client_context(ca), "one.test") == one.der
        assert await _shown(port, client_context(ca), "TWO.test") == two.der
        assert await _shown(port, client_context(ca), "a.wild.test") == wild.der
        for unknown in ("three.test", "a.b.wild.test", "wild.test"):
            with pytest.raises(REFUSED):
                await _shown(port, client_context(ca), unknown)


async def test_a_default_serves_whoever_names_nobody_known(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    one, fallback = ca.leaf("one.test"), ca.leaf("fallback.test", names=("127.0.0.1",))
    tls = ListenerTls(ListenerFiles((_files(one, "one.test"), _files(fallback, default=True))))
    async with _serving(tls) as port:
        assert await _shown(port, client_context(ca), "fallback.test") == fallback.der
        assert await _shown(port, client_context(ca), "127.0.0.1") == fallback.der


@pytest.mark.parametrize(
    ("mode", "shows", "served"),
    [
        pytest.param("none", None, True, id="none: nobody is asked"),
        pytest.param("request", None, True, id="request: without a certificate"),
        pytest.param("request", "ours", True, id="request: with a good one"),
        pytest.param("request", "foreign", False, id="request: a foreign one is not taken for none"),
        pytest.param("require", None, False, id="require: without a certificate"),
        pytest.param("require", "ours", True, id="require: with a good one"),
        pytest.param("require", "foreign", False, id="require: with a foreign one"),
        pytest.param("require", "expired", False, id="require: with an expired one"),
    ],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_client_certificates(
    tmp_path: Path, mode: ClientCertMode, shows: str | None, served: bool, version: ssl.TLSVersion
) -> None:
    ca, foreign = Authority(tmp_path), Authority(tmp_path, "foreign-ca")
    leaves = {
        None: None,
        "ours": ca.leaf("client", file="ours"),
        "foreign": foreign.leaf("client", file="foreign"),
        "expired": ca.leaf("client", file="expired", expired=True),
    }
    files = ListenerFiles((_files(ca.leaf("localhost")),), None if mode == "none" else ca.path, mode)
    tls, told = ListenerTls(files), list[str]()
    tls.untrusted = lambda: told.append("untrusted")
    async with _serving(tls) as port:
        context = client_context(ca, leaves[shows], maximum=version)
        if served:
            await _shown(port, context, "localhost")
            assert told == []
        else:
            with pytest.raises(REFUSED):
                await _shown(port, context, "localhost")
            await eventually(lambda: told == ["untrusted"], "it is told that a client was not trusted")


async def test_tls_1_2_is_refused_where_1_3_is_the_minimum(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    files = ListenerFiles((_files(ca.leaf("localhost")),), min_version=ssl.TLSVersion.TLSv1_3)
    async with _serving(ListenerTls(files)) as port:
        await _shown(port, client_context(ca), "localhost")
        with pytest.raises(REFUSED):
            await _shown(port, client_context(ca, maximum=ssl.TLSVersion.TLSv1_2), "localhost")


async def test_a_renewed_certificate_is_shown_after_reload_and_a_broken_one_never(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    old = ca.leaf("localhost")
    tls = ListenerTls(ListenerFiles((_files(old),)))
    async with _serving(tls) as port:
        assert await _shown(port, client_context(ca), "localhost") == old.der
        new = ca.leaf("localhost")
        assert await _shown(port, client_context(ca), "localhost") == old.der
        tls.reload()
        assert await _shown(port, client_context(ca), "localhost") == new.der
        new.key.write_text("not a key")
        with pytest.raises(TlsUnusable):
            tls.reload()
        assert await _shown(port, client_context(ca), "localhost") == new.der


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_renewed_client_ca_counts_at_once_even_for_resumed_sessions(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    ca, first, second = Authority(tmp_path), Authority(tmp_path, "first"), Authority(tmp_path, "second")
    clients = tmp_path / "clients.crt"
    clients.write_bytes(first.path.read_bytes())
    tls = ListenerTls(ListenerFiles((_files(ca.leaf("localhost")),), clients, "require"))
    async with _serving(tls) as port:
        context = client_context(ca, first.leaf("client"), maximum=version)
        session = await asyncio.to_thread(_session, port, context, None)
        clients.write_bytes(second.path.read_bytes())
        tls.reload()
        with pytest.raises(REFUSED):
            await asyncio.to_thread(_session, port, context, session)
        resumable = client_context(ca, second.leaf("client", file="c3"), maximum=version)
        session = await asyncio.to_thread(_session, port, resumable, None)
        await asyncio.to_thread(_session, port, resumable, session)
        await _shown(port, client_context(ca, second.leaf("client", file="c2")), "localhost")


@pytest.mark.parametrize(
    ("certificate", "key", "why"),
    [
        pytest.param("gone.crt", "good.key", "No such file", id="a missing certificate"),
        pytest.param("good.crt", "gone.key", "No such file", id="a missing key"),
        pytest.param("good.crt", "other.key", "key values mismatch", id="the key of another certificate"),
        pytest.param("junk.crt", "good.key", "", id="no PEM at all"),
    ],
)
def test_unusable_material_is_refused_by_name(tmp_path: Path, certificate: str, key: str, why: str) -> None:
    ca = Authority(tmp_path)
    ca.leaf("good")
    ca.leaf("other")
    (tmp_path / "junk.crt").write_text("junk")
    with pytest.raises(TlsUnusable) as refusal:
        ListenerTls(ListenerFiles((CertificateFiles(tmp_path / certificate, tmp_path / key),)))
    assert why in str(refusal.value)
    assert str(tmp_path) in refusal.value.what


def test_asking_for_client_certificates_needs_a_ca(tmp_path: Path) -> None:
    leaf = Authority(tmp_path).leaf()
    with pytest.raises(TlsUnusable):
        ListenerTls(ListenerFiles((_files(leaf),), None, "require"))


def test_half_a_client_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TlsUnusable):
        UpstreamContext(UpstreamFiles(certificate=Authority(tmp_path).leaf().certificate))


def test_an_upstream_context_verifies_unless_told_otherwise(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    checked = UpstreamContext(UpstreamFiles(ca=ca.path))()
    assert (checked.verify_mode, checked.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert UpstreamContext(UpstreamFiles(verify=False))().verify_mode == ssl.CERT_NONE


def test_a_reloaded_upstream_context_is_a_new_one_and_a_broken_file_keeps_the_old(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    upstream = UpstreamContext(UpstreamFiles(ca=ca.path))
    before = upstream()
    upstream.reload()
    after = upstream()
    assert after is not before
    ca.path.unlink()
    with pytest.raises(TlsUnusable):
        upstream.reload()
    assert upstream() is after


@pytest.mark.parametrize(
    ("uris", "organizations", "spiffe", "organization"),
    [
        pytest.param((), (), None, None, id="nothing but a name"),
        pytest.param(
            ("spiffe://grid/edge",), ("praxis-grid",), "spiffe://grid/edge", "praxis-grid", id="both"
        ),
        pytest.param(("spiffe://a/b", "spiffe://c/d"), (), None, None, id="two URIs are no identity"),
        pytest.param(("https://grid/edge",), (), None, None, id="a URI of another scheme"),
        pytest.param((), ("a", "b"), None, None, id="two organizations are none"),
    ],
)
def test_identity_of_a_peer(
    tmp_path: Path,
    uris: tuple[str, ...],
    organizations: tuple[str, ...],
    spiffe: str | None,
    organization: str | None,
) -> None:
    leaf = Authority(tmp_path).leaf("edge", uris=uris, organizations=organizations)
    identity = peer_identity(leaf.der)
    assert identity.digest == sha256(leaf.der).hexdigest() == leaf_digest(leaf.certificate)
    assert (identity.spiffe, identity.organization) == (spiffe, organization)
    assert int(identity.serial, 16) > 0
