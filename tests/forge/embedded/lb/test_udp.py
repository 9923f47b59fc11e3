"""Datagrams find their endpoint and their way back, and nobody listens where nothing is behind."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from forge.embedded.lb.udp import UdpRelay


class Echo(asyncio.DatagramProtocol):
    def __init__(self, name: str) -> None:
        self._name = name
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        assert self._transport is not None
        self._transport.sendto(self._name.encode() + b" " + data, address)


@contextlib.contextmanager
def client() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setblocking(False)
        one.bind(("127.0.0.1", 0))
        yield one


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def ask(one: socket.socket, port: int, text: str) -> str:
    """The answer; asked again while there is none, as datagrams may be lost."""
    loop = asyncio.get_running_loop()
    for _ in range(50):
        await loop.sock_sendto(one, text.encode(), ("127.0.0.1", port))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                return (await loop.sock_recv(one, 1000)).decode()
    raise AssertionError("no answer")


async def echo(name: str) -> tuple[asyncio.DatagramTransport, tuple[str, int]]:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Echo(name), local_addr=("127.0.0.1", 0)
    )
    return transport, transport.get_extra_info("sockname")


async def test_a_client_keeps_its_endpoint_while_it_is_there() -> None:
    loop, port = asyncio.get_running_loop(), free_port()
    relay = UdpRelay(loop, ("127.0.0.1", port))
    (a, address_a), (b, address_b) = await echo("a"), await echo("b")
    relay.set_endpoints([address_a, address_b])
    with client() as one, client() as other:
        first = await ask(one, port, "x")
        assert await ask(other, port, "y") != first.replace("x", "y")
        assert await ask(one, port, "x") == first
        relay.set_endpoints([address_b])
        assert await ask(one, port, "x") == "b x"
    relay.close()
    a.close()
    b.close()


async def test_without_endpoints_nobody_listens() -> None:
    loop, port = asyncio.get_running_loop(), free_port()
    relay = UdpRelay(loop, ("127.0.0.1", port))
    transport, address = await echo("a")
    relay.set_endpoints([address])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    relay.set_endpoints([])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
    transport.close()
