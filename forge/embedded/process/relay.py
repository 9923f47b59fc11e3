"""A TCP listener that passes each connection on to an endpoint: a published port, a load balancer.

The listener follows its endpoints: none, and it is closed, so that a client is refused rather than
accepted and dropped; one again, and it is opened. A dial that fails resets the client, which tells it
that nothing was delivered. Each direction ends by itself (half-close), a reset on one side is a reset on
the other, and at most one buffer a direction is held: a slow reader slows its writer.

Plain sockets and readiness callbacks: one relay costs nothing while nobody talks.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Callable, Sequence

_BUFFER = 64 * 1024
_BACKLOG = 512
_ACCEPTS = 64
"""Connections taken in one turn of the loop, so that a storm does not starve everything else."""

_DIAL_S = 5.0
_NO_ROOM_S = 0.1
"""The pause after the machine had no descriptor left: without it, accept would spin."""

_RESET = struct.pack("ii", 1, 0)

Address = tuple[str, int]


class Relay:
    """listen: one listener each, opened together or not at all. optional: those addresses that this
    machine need not have."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listen: Sequence[Address], optional: Sequence[str] = ()
    ) -> None:
        self._loop = loop
        self._listen = tuple(listen)
        self._optional = frozenset(optional)
        self._listeners: list[socket.socket] = []
        self._endpoints: tuple[Address, ...] = ()
        self._turn = 0
        self._links: set[_Link] = set()

    @property
    def listening(self) -> tuple[Address, ...]:
        """Where it listens now."""
        return tuple(s.getsockname()[:2] for s in self._listeners)

    def set_endpoints(self, endpoints: Sequence[Address]) -> None:
        """Passes new connections on to these in turn; running ones stay. Raises OSError, its filename
        the `address:port` that could not be listened on: then nothing listens, and the endpoints are
        kept for the next call."""
        self._endpoints = tuple(endpoints)
        if not endpoints:
            self._close_listeners()
        elif not self._listeners:
            self._listeners = _open_all(self._listen, self._optional)
            for listener in self._listeners:
                self._loop.add_reader(listener, self._accept, listener)

    def close(self) -> None:
        """Closes the listeners and resets every connection."""
        self.set_endpoints(())
        for link in tuple(self._links):
            link.reset()

    def _close_listeners(self) -> None:
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        self._listeners = []

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTS):
            try:
                client, _peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._pause(listener)
                    return
                continue  # that client has gone again
            if not self._pass_on(client):
                self._pause(listener)
                return

    def _pass_on(self, client: socket.socket) -> bool:
        """False when the machine had no descriptor for the other side; the client is reset then."""
        self._turn += 1
        endpoint = self._endpoints[self._turn % len(self._endpoints)]
        try:
            server = socket.socket(_family(endpoint[0]), socket.SOCK_STREAM)
        except OSError:
            _reset(client)
            client.close()
            return False
        self._links.add(_Link(self._loop, client, server, endpoint, self._links.discard))
        return True

    def _pause(self, listener: socket.socket) -> None:
        self._loop.remove_reader(listener)
        self._loop.call_later(_NO_ROOM_S, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            self._loop.add_reader(listener, self._accept, listener)


def open_listener(address: str, port: int) -> socket.socket:
    """A listening, non-blocking socket on one address. Raises OSError, its filename `address:port`."""
    listener = socket.socket(_family(address), socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.settimeout(0)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        number = error.errno or errno.EIO
        raise OSError(number, os.strerror(number), f"{address}:{port}") from error
    return listener


def _open_all(listen: Sequence[Address], optional: frozenset[str]) -> list[socket.socket]:
    opened: list[socket.socket] = []
    try:
        for address, port in listen:
            try:
                opened.append(open_listener(address, port))
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL or address not in optional:
                    raise
    except OSError:
        for listener in opened:
            listener.close()
        raise
    return opened


class _Link:
    """One client, its endpoint, and what flows between them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        client: socket.socket,
        server: socket.socket,
        endpoint: Address,
        ended: Callable[[_Link], None],
    ) -> None:
        self._loop = loop
        self._client = client
        self._server = server
        self._ended = ended
        self._flowing = 2
        self._closed = False
        for end in (client, server):
            end.settimeout(0)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._deadline = loop.call_later(_DIAL_S, self.reset)
        code = server.connect_ex(endpoint)
        if code in (0, errno.EINPROGRESS):
            loop.add_writer(server, self._dialled)
        else:
            loop.call_soon(self.reset)

    def reset(self) -> None:
        """Ends both sides with a reset: what was under way is lost, and both are told so."""
        for end in (self._client, self._server):
            _reset(end)
        self._close()

    def _dialled(self) -> None:
        self._deadline.cancel()
        self._loop.remove_writer(self._server)
        if self._server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.reset()
            return
        _Flow(self._loop, self._client, self._server, self._finished, self.reset)
        _Flow(self._loop, self._server, self._client, self._finished, self.reset)

    def _finished(self) -> None:
        self._flowing -= 1
        if not self._flowing:
            self._close()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._deadline.cancel()
        for end in (self._client, self._server):
            self._loop.remove_reader(end)
            self._loop.remove_writer(end)
            end.close()
        self._ended(self)


class _Flow:
    """One direction. Reads only while everything read before was taken by the other side."""

    __slots__ = ("_broken", "_finished", "_loop", "_pending", "_sink", "_source")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: socket.socket,
        sink: socket.socket,
        finished: Callable[[], None],
        broken: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._source = source
        self._sink = sink
        self._finished = finished
        self._broken = broken
        self._pending = memoryview(b"")
        loop.add_reader(source, self._readable)

    def _readable(self) -> None:
        try:
            data = self._source.recv(_BUFFER)
            if data:
                self._send(memoryview(data))
                return
            self._loop.remove_reader(self._source)
            self._sink.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            return
        except OSError:
            self._broken()
            return
        self._finished()

    def _send(self, data: memoryview) -> None:
        try:
            sent = self._sink.send(data)
        except BlockingIOError:
            sent = 0
        self._pending = data[sent:]
        if self._pending:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._writable)

    def _writable(self) -> None:
        try:
            self._pending = self._pending[self._sink.send(self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            self._broken()
            return
        if not self._pending:
            self._loop.remove_writer(self._sink)
            self._loop.add_reader(self._source, self._readable)


def _reset(end: socket.socket) -> None:
    """Makes its close a reset."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
