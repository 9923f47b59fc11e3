"""Advertised addresses, `host:port` or `[v6]:port`, as sockets want them; names are looked up."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import Final

LOOKUP_S: Final = 5.0
REMEMBERED_S: Final = 30.0
"""A seed's name may come to mean another load balancer; half a minute late is soon enough to notice."""
MAX_REMEMBERED: Final = 256

Place = tuple[str, int]
"""A numeric host and a port."""


def split(address: str) -> Place | None:
    """Host and port; None for what is no address."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 2**16:
        return None
    return host, int(port)


def is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _numeric(address: str) -> Place | None:
    """The place of a numeric address; None for a name. Remembered: each datagram asks."""
    place = split(address)
    return place if place is not None and is_numeric(place[0]) else None


class Addresses:
    """clock: seconds, only ever forward."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._remembered: dict[str, tuple[float, Place | None]] = {}

    def known(self, address: str) -> Place | None:
        """Where it is, if that can be said at once."""
        place = _numeric(address)
        if place is not None:
            return place
        until, found = self._remembered.get(address, (0.0, None))
        return found if self._clock() < until else None

    async def find(self, address: str) -> Place | None:
        """Where it is; None if it is no address, or its name is not known within the time."""
        place, known = split(address), self.known(address)
        if place is None or known is not None:
            return known
        until, found = self._remembered.get(address, (0.0, None))
        if self._clock() >= until:
            found = await self._look_up(*place)
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[address] = self._clock() + REMEMBERED_S, found
        return found

    async def _look_up(self, host: str, port: int) -> Place | None:
        try:
            async with asyncio.timeout(LOOKUP_S):
                answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        except (OSError, UnicodeError, TimeoutError):
            return None
        return (str(answers[0][4][0]), port) if answers else None
