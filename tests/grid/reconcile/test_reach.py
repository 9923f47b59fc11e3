"""A handshake proves a site by CA, name and pin; each way it fails has its own reason."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from grid.contract.status import Coverage, GatewayStatus, write_status
from grid.crd.network import read_network
from grid.crd.site import read_site
from grid.reconcile.identity import Identity
from grid.reconcile.reach import Door, Reacher, ask, doors
from grid.reconcile.world import Trust
from grid.scoring.health import Phase
from tests.kit.certs import Authority, Leaf, server_context
from tests.kit.eventually import eventually
from tests.kit.operators import free_port, identity
from tests.kit.resources import gateway, network, site

SITE, NAME = "east", "east.grid.internal"
STATUS = GatewayStatus(
    network="production",
    gateway="edge",
    site="edge",
    ready=True,
    not_ready=(),
    draining=False,
    accepted=None,
    serving=None,
    age_s=None,
    rejections=0,
    last_rejection=None,
    coverage=Coverage(routes=0, open=0, missing=0),
)


class Parties:
    """The grid's CA, our certificate, and theirs."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.ours = Identity(identity(folder / "ours", self.authority, self.authority.leaf("ours")))
        self.theirs = self.authority.leaf(SITE, names=(NAME,))
        (folder / "other").mkdir()
        self.stranger = Authority(folder / "other", "other-ca")


@pytest.fixture
def parties(tmp_path: Path) -> Parties:
    return Parties(tmp_path)


@contextlib.asynccontextmanager
async def serving(context: ssl.SSLContext | None, answer: bytes | None = None) -> AsyncIterator[int]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            if answer is not None and context is not None:
                await reader.readuntil(b"\r\n\r\n")
            if answer is not None:
                writer.write(answer)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def pin(leaf: Leaf) -> str:
    return hashlib.sha256(leaf.der).hexdigest()


def at(port: int, *pins: str, name: str = NAME) -> Door:
    return Door(SITE, "127.0.0.1", port, name, pins)


def status_door(port: int, *pins: str) -> Door:
    return Door(SITE, "127.0.0.1", port, "", pins, path="/status", gateway=("grid-system", "edge"))


async def test_the_pinned_leaf_of_the_grids_ca_under_its_name_is_verified(parties: Parties) -> None:
    async with serving(server_context(parties.theirs, clients=parties.authority)) as port:
        assert await ask(at(port, "00" * 32, pin(parties.theirs)), parties.ours) == (Trust.VERIFIED, None)


async def test_another_leaf_is_a_pin_mismatch(parties: Parties) -> None:
    async with serving(server_context(parties.theirs)) as port:
        assert (await ask(at(port, "00" * 32), parties.ours))[0] is Trust.PIN_MISMATCH


async def test_another_ca_is_an_untrusted_issuer_though_its_leaf_is_pinned(parties: Parties) -> None:
    leaf = parties.stranger.leaf(SITE, names=(NAME,))
    async with serving(server_context(leaf)) as port:
        assert (await ask(at(port, pin(leaf)), parties.ours))[0] is Trust.UNTRUSTED_ISSUER


async def test_another_name_is_an_identity_mismatch(parties: Parties) -> None:
    async with serving(server_context(parties.theirs)) as port:
        found, _ = await ask(at(port, pin(parties.theirs), name="west.grid.internal"), parties.ours)
    assert found is Trust.IDENTITY_MISMATCH


async def test_a_pinned_leaf_of_another_site_is_an_identity_mismatch(parties: Parties) -> None:
    """One certificate pinned for two sites proves one of them."""
    async with serving(server_context(parties.theirs)) as port:
        door = dataclasses.replace(at(port, pin(parties.theirs)), site="west")
        assert (await ask(door, parties.ours))[0] is Trust.IDENTITY_MISMATCH


async def test_an_expired_certificate_is_that(parties: Parties) -> None:
    leaf = parties.authority.leaf(SITE, names=(NAME,), expired=True, file="expired")
    async with serving(server_context(leaf)) as port:
        assert (await ask(at(port, pin(leaf)), parties.ours))[0] is Trust.CERTIFICATE_EXPIRED


async def test_no_tls_at_all_is_a_protocol_error(parties: Parties) -> None:
    async with serving(None, b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        found, _ = await ask(at(port, "00" * 32), parties.ours)
    assert found in {Trust.TLS_PROTOCOL_ERROR, Trust.CONNECTION_FAILED}


async def test_nobody_there_is_no_connection(parties: Parties) -> None:
    assert (await ask(at(free_port(), "00" * 32), parties.ours))[0] is Trust.CONNECTION_FAILED


async def test_without_our_own_certificate_nobody_is_asked(tmp_path: Path) -> None:
    assert (await ask(at(1, "00" * 32), Identity(tmp_path)))[0] is Trust.TRUST_MATERIAL_MISSING


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + write_status(STATUS), STATUS, id="a status"),
        pytest.param(b"HTTP/1.1 503 Service Unavailable\r\n\r\n" + write_status(STATUS), None, id="an error"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n{}", None, id="no status"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 100_000, None, id="over the bound"),
        pytest.param(b"", None, id="nothing"),
    ],
)
async def test_a_status_is_read_over_the_verified_connection(
    parties: Parties, answer: bytes, expected: GatewayStatus | None
) -> None:
    async with serving(server_context(parties.theirs, clients=parties.authority), answer) as port:
        door = status_door(port, pin(parties.theirs))
        assert await ask(door, parties.ours) == (Trust.VERIFIED, expected)


async def test_no_status_is_taken_from_who_is_not_the_pinned_one(parties: Parties) -> None:
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + write_status(STATUS)
    async with serving(server_context(parties.theirs), answer) as port:
        door = status_door(port, "00" * 32)
        assert await ask(door, parties.ours) == (Trust.PIN_MISMATCH, None)


async def test_reachability_is_lost_after_three_failures_and_proved_by_one_success(parties: Parties) -> None:
    async with asyncio.TaskGroup() as group:
        reacher = Reacher(parties.ours, lambda: 1.0, lambda: None, lambda: 0.0, every_s=0.01)
        async with serving(server_context(parties.theirs)) as port:
            reacher.keep(group, {(SITE, ("", "")): at(port, pin(parties.theirs))})
            await eventually(lambda: "east" in reacher.reached, "a first probe")
            assert reacher.reached["east"].health.phase is Phase.AVAILABLE
        await eventually(lambda: reacher.reached["east"].health.phase is Phase.UNAVAILABLE, "it is lost")
        assert reacher.reached["east"].found is Trust.CONNECTION_FAILED
        reacher.keep(group, {})
        assert reacher.reached == {}
        reacher.stop()


def test_doors_are_where_a_site_can_prove_itself() -> None:
    pins = {"canonicalFingerprints": ["ab" * 32]}
    tls = {"serverName": "a.grid.internal"}
    sites = [
        site("own", trust=pins, gatewayEndpoint={"address": "own:1", "tls": tls}),
        site("east", trust=pins, gatewayEndpoint={"address": "[::1]:8443", "tls": tls}),
        site("old", trust=pins, egress={"address": "old:8443", "tls": tls}),
        site("unpinned", gatewayEndpoint={"address": "u:1", "tls": tls}),
        site("nameless", trust=pins, gatewayEndpoint={"address": "n:1"}),
        site("portless", trust=pins, gatewayEndpoint={"address": "p", "tls": tls}),
        site("plain", trust=pins, gatewayEndpoint={"address": "p:1", "tls": {"mode": "Plaintext"}}),
        site("edge", role="edge", trust=pins),
        site("edge-2", role="edge", trust=pins),
        site("edge-3", role="edge"),
    ]
    refs = [
        gateway("edge", statusEndpoint="https://127.0.0.1:9901/status"),
        gateway("beside", localSiteName="edge", statusEndpoint="https://127.0.0.1:9902/status"),
        gateway("edge-2", statusEndpoint="https://edge.example"),
        gateway("edge-3", statusEndpoint="https://127.0.0.1:9901/status"),
        gateway("in-the-east", localSiteName="east", statusEndpoint="https://[::1]:9901/status"),
        gateway("here", localSiteName="own", statusEndpoint="https://127.0.0.1:9901/status"),
        gateway("silent", localSiteName="east"),
    ]
    found = doors([read_site(each) for each in sites], [read_network(network("production", *refs))], "own")
    assert {
        key: (door.host, door.port, door.name, door.path, door.proves) for key, door in found.items()
    } == {
        ("east", ("", "")): ("::1", 8443, "a.grid.internal", "", True),
        ("old", ("", "")): ("old", 8443, "a.grid.internal", "", True),
        ("edge", ("grid-system", "edge")): ("127.0.0.1", 9901, "", "/status", True),
        ("edge", ("grid-system", "beside")): ("127.0.0.1", 9902, "", "/status", False),
        ("edge-2", ("grid-system", "edge-2")): ("edge.example", 443, "", "/status", True),
        ("east", ("grid-system", "in-the-east")): ("::1", 9901, "", "/status", False),
        ("own", ("grid-system", "here")): ("127.0.0.1", 9901, "", "/status", False),
    }
    assert {door.pins for door in found.values()} == {("ab" * 32,)}
    assert all((door.site, door.gateway or ("", "")) == key for key, door in found.items())
