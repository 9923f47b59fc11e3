"""A client that sends exactly the bytes it is given and reads replies strictly, telling whole from cut
ones."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import cast

DEADLINE_S = 20.0


@dataclass(frozen=True)
class RawReply:
    """fields: by lower-case name, repeated ones joined. whole: the body ended as its framing says."""

    status: int
    fields: dict[bytes, bytes]
    body: bytes
    whole: bool = True


class Closed(Exception):
    """The gateway closed (or reset) before a reply's head was there."""


class RawClient:
    """One connection. Every wait has a deadline."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Write it; a connection that is gone is noticed when reading."""
        with suppress(ConnectionError):
            if not self.writer.transport.is_closing():  # uvloop raises no OSError then
                self.writer.write(data)
                await self.writer.drain()

    async def reply(self, method: bytes = b"GET", *, interim: bool = False) -> RawReply:
        """The next reply; 1xx are passed over unless *interim*. Raises Closed."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                reply = await self._one(method)
                if interim or reply.status >= 200:
                    return reply

    async def exchange(self, data: bytes) -> RawReply:
        """Send and read one reply."""
        await self.send(data)
        return await self.reply(data.partition(b" ")[0])

    async def read(self, count: int) -> bytes:
        """Exactly *count* raw bytes."""
        async with asyncio.timeout(DEADLINE_S):
            return await self._reader.readexactly(count)

    async def until(self, mark: bytes) -> bytes:
        """Raw bytes up to and with *mark*."""
        async with asyncio.timeout(DEADLINE_S):
            return await self._reader.readuntil(mark)

    async def rest(self) -> bytes:
        """Everything until the gateway closes; a reset ends it too."""
        data = b""
        async with asyncio.timeout(DEADLINE_S):
            with suppress(ConnectionError):
                while piece := await self._reader.read(65536):
                    data += piece
        return data

    def half_close(self) -> None:
        """Send the end of the stream and go on reading."""
        self.writer.write_eof()

    def stop_reading(self) -> None:
        """Take nothing more from the kernel, as a stalled client does."""
        cast("asyncio.Transport", self.writer.transport).pause_reading()  # a stream's transport is one

    def read_again(self) -> None:
        """The opposite."""
        cast("asyncio.Transport", self.writer.transport).resume_reading()  # a stream's transport is one

    def close(self) -> None:
        """Close in order."""
        self.writer.close()

    def reset(self) -> None:
        """Close with a reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def _one(self, method: bytes) -> RawReply:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError) as error:  # ENOTCONN is no ConnectionError
            raise Closed from error
        first, *lines = head[:-4].split(b"\r\n")
        version, status = first.split(b" ")[:2]
        assert version == b"HTTP/1.1", first
        fields: dict[bytes, bytes] = {}
        for line in lines:
            name, _, value = line.partition(b": ")
            fields[name.lower()] = fields[name.lower()] + b", " + value if name.lower() in fields else value
        body, whole = await self._body(method, int(status), fields)
        return RawReply(int(status), fields, body, whole)

    async def _body(self, method: bytes, status: int, fields: dict[bytes, bytes]) -> tuple[bytes, bool]:
        if method == b"HEAD" or status < 200 or status in (204, 304):
            return b"", True
        assert not (b"transfer-encoding" in fields and b"content-length" in fields), fields
        if b"transfer-encoding" in fields:
            return await self._chunks()
        if b"content-length" not in fields:
            return await self._to_end()
        try:
            return await self._reader.readexactly(int(fields[b"content-length"])), True
        except asyncio.IncompleteReadError as error:
            return error.partial, False
        except ConnectionError:
            return b"", False

    async def _to_end(self) -> tuple[bytes, bool]:
        data = b""
        try:
            while piece := await self._reader.read(65536):
                data += piece
        except ConnectionError:
            return data, False
        return data, True

    async def _chunks(self) -> tuple[bytes, bool]:
        body = b""
        try:
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                data = await self._reader.readexactly(size + 2)
                assert data.endswith(b"\r\n"), data[-10:]
                body += data[:-2]
            assert await self._reader.readexactly(2) == b"\r\n"
        except (asyncio.IncompleteReadError, ConnectionError):
            return body, False
        return body, True


@asynccontextmanager
async def client(
    port: int, *, tls: ssl.SSLContext | None = None, sni: str | None = None
) -> AsyncIterator[RawClient]:
    """A connection to loopback, closed when the block ends."""
    server_hostname = (sni or "") if tls else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, server_hostname=server_hostname, limit=1 << 22
    )
    made = RawClient(reader, writer)
    try:
        yield made
    finally:
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


def get(target: bytes = b"/", *lines: bytes) -> bytes:
    """A plain GET; *lines* are further field lines without their CRLF."""
    return b"\r\n".join((b"GET %b HTTP/1.1" % target, b"Host: gateway", *lines, b"", b""))


def post(body: bytes, target: bytes = b"/v1/chat/completions", *lines: bytes) -> bytes:
    """A POST that declares its length."""
    head = (
        b"POST %b HTTP/1.1" % target,
        b"Host: gateway",
        b"Content-Length: %d" % len(body),
        *lines,
        b"",
        b"",
    )
    return b"\r\n".join(head) + body
