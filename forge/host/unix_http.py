"""HTTP/1.1 over a unix socket, one request a connection: as much of it as a container engine speaks.

Our own few lines, since importing http.client takes as long as fifty calls, in a command whose whole
no-op is a dozen. An answer is framed by chunks, by its length, or by the end of the connection (RFC
9112, 6.3); a frame that ends too early is an error and never a shorter answer.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from forge.plan.ports import Cancel

_TICK_S = 0.1
"""How often a read that waits looks at its deadline and whether it is cancelled."""

_MAX_HEAD = 64 * 1024
_MAX_LINE = 1024

QueryValue = str | int | bool | tuple[str, ...] | Mapping[str, Any]
Query = Mapping[str, QueryValue]
"""A tuple repeats its field; a mapping is sent as JSON."""


class BrokenOff(Exception):
    """The connection ended, or went silent, before the answer was whole; or it is no HTTP."""


class Cancelled(Exception):
    """Nobody wants the answer any more; raised before its head came."""


@dataclass(frozen=True, slots=True)
class Request:
    """body: JSON, or bytes as they are (a tar archive). timeout_s: for the whole answer, or, where
    there is a cancel, for its head alone. cancel: ends the answer early."""

    method: str
    path: str
    query: Query | None = None
    body: Any = None
    timeout_s: float = 60.0
    cancel: Cancel | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """head: fields by lower-case name. body: piece by piece as it comes; it ends, without an error,
    when the request's cancel is set, and raises BrokenOff."""

    status: int
    head: Mapping[str, str]
    body: Iterator[bytes]


def exchange(peer: socket.socket, request: Request, prefix: str = "") -> Answer:
    """Sends the request on a fresh connection and reads the head. Raises BrokenOff, Cancelled."""
    try:
        peer.sendall(_written(request, prefix))
    except OSError as error:
        raise BrokenOff(str(error)) from error
    reader = _Reader(peer, request)
    status, head = reader.head()
    return Answer(status, head, reader.body(head))


def _written(request: Request, prefix: str) -> bytes:
    body, kind = b"", "application/json"
    if isinstance(request.body, bytes):
        body, kind = request.body, "application/x-tar"
    elif request.body is not None:
        body = json.dumps(request.body).encode()
    target = quote(prefix + request.path, safe="/:@") + _query(request.query)
    lines = [f"{request.method} {target} HTTP/1.1", "Host: engine", "Connection: close"]
    if request.method in ("POST", "PUT"):
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, "", "")).encode() + body


def _query(query: Query | None) -> str:
    if not query:
        return ""
    return "?" + urlencode([(name, text) for name, value in query.items() for text in _texts(value)])


def _texts(value: QueryValue) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, Mapping):
        return (json.dumps(value),)
    return (str(int(value)) if isinstance(value, bool) else str(value),)


class _Reader:
    """Takes one answer off a connection."""

    def __init__(self, peer: socket.socket, request: Request) -> None:
        peer.settimeout(_TICK_S)
        self._peer = peer
        self._buffer = bytearray()
        self._deadline: float | None = time.monotonic() + request.timeout_s
        self._cancel = request.cancel

    def head(self) -> tuple[int, Mapping[str, str]]:
        status_line, *lines = self._until(b"\r\n\r\n", _MAX_HEAD).decode("latin-1").split("\r\n")
        words = status_line.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
            raise BrokenOff("what answers is not HTTP")
        pairs = (line.partition(":") for line in lines)
        return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def body(self, head: Mapping[str, str]) -> Iterator[bytes]:
        if self._cancel is not None:
            self._deadline = None
        with suppress(Cancelled):
            if head.get("transfer-encoding", "").lower() == "chunked":
                yield from self._chunks()
            elif "content-length" in head:
                yield from self._counted(_size(head["content-length"], 10))
            else:
                yield from self._rest()

    def _chunks(self) -> Iterator[bytes]:
        """RFC 9112, 7.1; trailers are dropped."""
        while size := _size(self._until(b"\r\n", _MAX_LINE).split(b";")[0].decode("latin-1"), 16):
            yield from self._counted(size)
            self._until(b"\r\n", _MAX_LINE)

    def _counted(self, size: int) -> Iterator[bytes]:
        while size:
            if not self._buffer and not self._fill():
                raise BrokenOff("its answer ended too early")
            piece = bytes(self._buffer[:size])
            del self._buffer[:size]
            size -= len(piece)
            yield piece

    def _rest(self) -> Iterator[bytes]:
        while self._buffer or self._fill():
            piece = bytes(self._buffer)
            self._buffer.clear()
            yield piece

    def _until(self, end: bytes, limit: int) -> bytes:
        while end not in self._buffer:
            if len(self._buffer) > limit or not self._fill():
                raise BrokenOff("its answer ended too early")
        line, _, rest = bytes(self._buffer).partition(end)
        self._buffer[:] = rest
        return line

    def _fill(self) -> bool:
        """Waits for more; False at the end of the connection."""
        while True:
            if self._cancel is not None and self._cancel.is_set():
                raise Cancelled
            try:
                got = self._peer.recv(256 * 1024)
            except TimeoutError:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    raise BrokenOff("no answer in time") from None
                continue
            except OSError as error:
                raise BrokenOff(str(error)) from error
            self._buffer += got
            return bool(got)


def _size(text: str, base: int) -> int:
    try:
        size = int(text.strip(), base)
    except ValueError:
        size = -1
    if size < 0:
        raise BrokenOff("what answers is not HTTP")
    return size
