"""Bytes go through whole in both directions, ends and resets included; without endpoints nothing listens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from forge.embedded.process.relay import Address, Relay, open_listener
from tests.kit.processes import DEADLINE_S, eventually, soon

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def server(talk: Talk, address: str = "127.0.0.1") -> AsyncIterator[Address]:
    """A server that has *talk* with each client; gives where it listens."""

    talking: set[asyncio.StreamWriter] = set()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(writer)
        with contextlib.suppress(ConnectionError):
            await talk(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        talking.discard(writer)

    running = await asyncio.start_server(guarded, address, 0)
    yield running.sockets[0].getsockname()[:2]
    running.close()
    await running.wait_closed()
    await soon(lambda: not talking)


@contextlib.contextmanager
def relay(*listen: Address, optional: tuple[str, ...] = ()) -> Iterator[Relay]:
    it = Relay(asyncio.get_running_loop(), listen or (("127.0.0.1", free_port()),), optional)
    try:
        yield it
    finally:
        it.close()


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no address {address}")
        return int(probe.getsockname()[1])


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Gives back everything, and ends when the client has ended."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def say_name(name: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(name)
    await writer.drain()


async def ask(where: Address, data: bytes) -> bytes:
    """What comes back until the end, sending *data* and an end meanwhile."""
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(*where)

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        _, answer = await asyncio.gather(send(), reader.read(-1))
        writer.close()
        await writer.wait_closed()
    return answer


async def test_bytes_go_both_ways_whole() -> None:
    data = os.urandom(8 * 1024 * 1024)
    async with server(echo) as there:
        with relay() as it:
            it.set_endpoints([there])
            assert await ask(it.listening[0], data) == data


async def test_an_end_in_one_direction_leaves_the_other_open() -> None:
    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = await reader.read(-1)  # only an end lets this return
        writer.write(b"%d" % len(got))
        await writer.drain()

    async with server(count) as there:
        with relay() as it:
            it.set_endpoints([there])
            assert await ask(it.listening[0], b"x" * 1000) == b"1000"


async def test_a_slow_reader_slows_its_writer() -> None:
    """What is under way stays within socket buffers, far under what the server would send."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with server(flood) as there:
        with relay() as it:
            it.set_endpoints([there])
            reader, writer = await asyncio.open_connection(*it.listening[0], limit=1024)
            before = -1
            while sent != before:  # until nothing moves any more
                before = sent
                await asyncio.sleep(0.2)
            assert 0 < sent < 64 * 1024 * 1024
            assert len(await reader.readexactly(1_000_000)) == 1_000_000
            await soon(lambda: sent > before)
            writer.transport.abort()


async def test_endpoints_take_turns() -> None:
    async with (
        server(lambda r, w: say_name(b"one", r, w)) as one,
        server(lambda r, w: say_name(b"two", r, w)) as two,
    ):
        with relay() as it:
            it.set_endpoints([one, two])
            answers = [await ask(it.listening[0], b"") for _ in range(4)]
    assert sorted(answers) == [b"one", b"one", b"two", b"two"]
    assert answers[:2] == answers[2:]


async def test_without_endpoints_a_client_is_refused() -> None:
    async with server(echo) as there:
        with relay() as it:
            assert not it.listening
            it.set_endpoints([there])
            (where,) = it.listening
            assert await ask(where, b"hello") == b"hello"
            it.set_endpoints([])
            assert not it.listening
            with pytest.raises(ConnectionRefusedError):
                await ask(where, b"")
            it.set_endpoints([there])
            assert await ask(where, b"again") == b"again"


async def test_a_failed_dial_resets_the_client() -> None:
    with relay() as it:
        it.set_endpoints([("127.0.0.1", free_port())])
        with pytest.raises(ConnectionResetError):
            await ask(it.listening[0], b"hello")


async def test_a_reset_by_the_endpoint_is_a_reset_for_the_client() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    async with server(reset) as there:
        with relay() as it:
            it.set_endpoints([there])
            with pytest.raises(ConnectionResetError):
                await ask(it.listening[0], b"x")


async def test_a_client_that_goes_away_ends_the_endpoints_side() -> None:
    ended = asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"tick")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    async with server(stream) as there:
        with relay() as it:
            it.set_endpoints([there])
            reader, writer = await asyncio.open_connection(*it.listening[0])
            assert await reader.readexactly(4) == b"tick"
            writer.transport.abort()
            async with asyncio.timeout(DEADLINE_S):
                await ended.wait()


async def test_closing_resets_what_is_under_way() -> None:
    async with server(echo) as there:
        with relay() as it:
            it.set_endpoints([there])
            reader, writer = await asyncio.open_connection(*it.listening[0])
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
            it.close()
            with pytest.raises(ConnectionResetError):
                await reader.readexactly(1)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def test_taking_endpoints_away_leaves_running_connections() -> None:
    async with server(echo) as there:
        with relay() as it:
            it.set_endpoints([there])
            reader, writer = await asyncio.open_connection(*it.listening[0])
            writer.write(b"one")
            assert await reader.readexactly(3) == b"one"
            it.set_endpoints([])
            writer.write(b"two")
            assert await reader.readexactly(3) == b"two"
            writer.close()
            await writer.wait_closed()


async def test_many_clients_at_once() -> None:
    async with server(echo) as there:
        with relay() as it:
            it.set_endpoints([there])
            answers = await asyncio.gather(*(ask(it.listening[0], b"%d" % n) for n in range(200)))
    assert answers == [b"%d" % n for n in range(200)]


def test_a_machine_without_descriptors_is_waited_for() -> None:
    """Forty clients where a relay has room for six or seven: the others wait until there is room, but for
    one now and then that was taken just as the last descriptor went."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_echo_each, args=(server, 60), daemon=True).start()
        argv = [sys.executable, "-c", SHORT_OF_DESCRIPTORS, str(server.getsockname()[1])]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            where = ("127.0.0.1", int(running.stdout.readline()))
            clients = [socket.create_connection(where, timeout=DEADLINE_S) for _ in range(40)]
            served = [_is_served(client) for client in clients]
            last = eventually(lambda: _is_served(socket.create_connection(where, timeout=DEADLINE_S)))
            running.kill()
    assert served.count(True) >= 6
    assert last


def _echo_each(server: socket.socket, clients: int) -> None:
    for _ in range(clients):
        try:
            peer, _address = server.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=_echo_one, args=(peer,), daemon=True).start()


def _echo_one(peer: socket.socket) -> None:
    with peer, contextlib.suppress(OSError):
        while data := peer.recv(10):
            peer.sendall(data)


def _is_served(client: socket.socket) -> bool:
    """Whether its word comes back; False when it was turned away. Closes it."""
    with client:
        try:
            client.sendall(b"x")
            return client.recv(1) == b"x"
        except ConnectionError:
            return False


SHORT_OF_DESCRIPTORS = """
import asyncio, resource, socket, sys
from forge.embedded.process.relay import Relay

async def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    relay = Relay(asyncio.get_running_loop(), [("127.0.0.1", port)])
    relay.set_endpoints([("127.0.0.1", int(sys.argv[1]))])
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    print(port, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_ipv6_is_passed_on_to_ipv4() -> None:
    async with server(echo) as there:
        with relay(("::1", free_port("::1"))) as it:
            it.set_endpoints([there])
            assert await ask(it.listening[0], b"six") == b"six"


async def test_listeners_open_together_or_not_at_all() -> None:
    port = free_port()
    with open_listener("127.0.0.2", port), relay(("127.0.0.1", port), ("127.0.0.2", port)) as it:
        with pytest.raises(OSError, match="in use") as failure:
            it.set_endpoints([("127.0.0.1", 1)])
        assert failure.value.filename == f"127.0.0.2:{port}"
        assert it.listening == ()
        open_listener("127.0.0.1", port).close()


async def test_an_address_that_has_gone_is_passed_over_only_where_that_is_allowed() -> None:
    port = free_port()
    listen = (("127.0.0.1", port), ("192.0.2.7", port))
    with relay(*listen, optional=("192.0.2.7",)) as it:
        it.set_endpoints([("127.0.0.1", 1)])
        assert it.listening == (("127.0.0.1", port),)
    with relay(*listen) as it, pytest.raises(OSError, match="assign"):
        it.set_endpoints([("127.0.0.1", 1)])
