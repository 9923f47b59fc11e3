"""A backend that answers with exactly the bytes a test wants, and remembers what reached it.

It reads whole requests (the gateway always declares a length) and hands each to the test's `answer`, which
writes raw bytes, waits, resets or hangs as it likes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass(frozen=True)
class Received:
    """connection: which one it came on, from 0. head: as received, with its blank line."""

    connection: int
    head: bytes
    body: bytes

    @property
    def line(self) -> bytes:
        """The request line."""
        return self.head.partition(b"\r\n")[0]

    @property
    def fields(self) -> dict[bytes, bytes]:
        """By lower-case name; repeated ones are joined by ", "."""
        found: dict[bytes, bytes] = {}
        for line in self.head.split(b"\r\n")[1:]:
            name, colon, value = line.partition(b":")
            if colon:
                key = name.lower()
                found[key] = found[key] + b", " + value.strip() if key in found else value.strip()
        return found


class Wire:
    """One connection to the backend, as its answer sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Write and wait until the kernel has it (or the other side's slowness holds it up).

        Raises ConnectionError when the connection has ended.
        """
        if self.writer.transport.is_closing():  # uvloop raises no OSError then
            raise ConnectionResetError
        self.writer.write(data)
        await self.writer.drain()

    def finish(self) -> None:
        """End the stream in order."""
        self.writer.close()

    def reset(self) -> None:
        """End it with a reset: what is unread at the other side may be lost."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def until_closed(self) -> None:
        """Wait until the gateway has closed its side; what it still sends is dropped."""
        with suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


Answer = Callable[[Received, Wire], Awaitable[None]]


@dataclass
class Backend:
    """received: in order of arrival. opened: connections ever. open: those not yet ended."""

    answer: Answer
    port: int = 0
    received: list[Received] = field(default_factory=list)
    opened: int = 0
    open: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(self.opened, reader, writer)
        self.opened += 1
        self.open += 1
        try:
            while not writer.is_closing():
                request = await _read_request(wire)
                self.received.append(request)
                await self.answer(request, wire)
        except (asyncio.IncompleteReadError, OSError):  # a socket that is gone is no ConnectionError
            pass
        finally:
            self.open -= 1
            writer.close()


async def _read_request(wire: Wire) -> Received:
    head = await wire.reader.readuntil(b"\r\n\r\n")
    request = Received(wire.number, head, b"")
    length = int(request.fields.get(b"content-length", b"0"))
    return Received(wire.number, head, await wire.reader.readexactly(length))


def always(data: bytes) -> Answer:
    """The same bytes for every request."""

    async def answer(_: Received, wire: Wire) -> None:
        await wire.send(data)

    return answer


async def echo(request: Received, wire: Wire) -> None:
    """The request's body, and its target in a field."""
    target = request.line.split()[1]
    head = b"HTTP/1.1 200 OK\r\nx-target: %b\r\ncontent-length: %d\r\n\r\n" % (target, len(request.body))
    await wire.send(head + (b"" if request.line.startswith(b"HEAD") else request.body))


@asynccontextmanager
async def backend(
    answer: Answer | bytes = OK, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Backend]:
    """Listens on loopback while the block runs."""
    made = Backend(always(answer) if isinstance(answer, bytes) else answer)
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        with suppress(asyncio.CancelledError):  # the end, below; asyncio 3.11 would log it as a failure
            await made.serve(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def free_port() -> int:
    """A port nobody listens on; connecting to it is refused."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
