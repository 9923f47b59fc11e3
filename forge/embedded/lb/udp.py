"""A UDP listener that passes datagrams on: each client keeps its endpoint while it goes on talking.

Each client has a socket of its own towards its endpoint, so that answers find their way; it is closed
after a quiet half minute, as a kernel's connection tracking does. Datagrams that do not fit are lost, as
datagrams are.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence

Address = tuple[str, int]
_IDLE_S = 30.0
_MOST_CLIENTS = 4096
_DATAGRAM = 65_535
_IN_A_ROW = 64


class UdpRelay:
    """listen: one address. Without endpoints nothing listens."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listen: Address) -> None:
        self._loop = loop
        self._listen = listen
        self._socket: socket.socket | None = None
        self._endpoints: tuple[Address, ...] = ()
        self._clients: dict[Address, _Client] = {}
        self._turn = 0

    def set_endpoints(self, endpoints: Sequence[Address]) -> None:
        """Clients whose endpoint is gone are given another. Raises OSError when it cannot listen."""
        self._endpoints = tuple(endpoints)
        for client in list(self._clients.values()):
            if client.endpoint not in self._endpoints:
                client.close()
        if not endpoints:
            self._close()
        elif self._socket is None:
            self._socket = self._open()
            self._loop.add_reader(self._socket, self._received)

    def close(self) -> None:
        self.set_endpoints(())

    def _open(self) -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            one.settimeout(0)
            one.bind(self._listen)
        except OSError:
            one.close()
            raise
        return one

    def _close(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _received(self) -> None:
        for _ in range(_IN_A_ROW):
            if self._socket is None:
                return
            try:
                data, address = self._socket.recvfrom(_DATAGRAM)
            except OSError:  # nothing more, or an old answer that could not be delivered
                return
            client = self._clients.get(address) or self._meet(address)
            if client is not None:
                client.send(data)

    def _meet(self, address: Address) -> _Client | None:
        if len(self._clients) >= _MOST_CLIENTS:
            return None
        self._turn += 1
        endpoint = self._endpoints[self._turn % len(self._endpoints)]
        try:
            client = _Client(self, self._loop, address, endpoint)
        except OSError:
            return None
        self._clients[address] = client
        return client

    def answer(self, data: bytes, client: Address) -> None:
        """Sends what an endpoint said to its client."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.sendto(data, client)

    def forget(self, client: Address) -> None:
        self._clients.pop(client, None)


class _Client:
    """One client's socket towards its endpoint."""

    def __init__(
        self, relay: UdpRelay, loop: asyncio.AbstractEventLoop, address: Address, endpoint: Address
    ) -> None:
        self.endpoint = endpoint
        self._relay = relay
        self._loop = loop
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(0)
        try:
            self._socket.connect(endpoint)
        except OSError:
            self._socket.close()
            raise
        loop.add_reader(self._socket, self._answered)
        self._heard_at = loop.time()
        self._timer = loop.call_later(_IDLE_S, self._quiet)

    def send(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        with contextlib.suppress(OSError):
            self._socket.send(data)

    def close(self) -> None:
        self._timer.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._relay.forget(self._address)

    def _answered(self) -> None:
        self._heard_at = self._loop.time()
        try:
            data = self._socket.recv(_DATAGRAM)
        except OSError:
            return
        self._relay.answer(data, self._address)

    def _quiet(self) -> None:
        left_s = self._heard_at + _IDLE_S - self._loop.time()
        if left_s <= 0:
            self.close()
        else:
            self._timer = self._loop.call_later(left_s, self._quiet)
