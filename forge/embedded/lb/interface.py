"""Puts load-balancer addresses on a network interface, where they are to be reached from outside.

On a machine of its own (a node in a container) an address is taken as MetalLB's speaker takes it: the
kernel answers for it on the wire once the interface has it. It is told so by rtnetlink, since such an
image need not have `ip`. RFC 3549; linux/rtnetlink.h, linux/if_addr.h.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

_NEW, _DELETE = 20, 21
_REQUEST, _ACK, _REPLACE, _CREATE = 0x1, 0x4, 0x100, 0x400
_ERROR = 2
_ADDRESS, _LOCAL = 1, 2
_HEADER = struct.Struct("=IHHII")
_ALONE = 32
"""The prefix: the address itself, so that no route comes with it."""


@dataclass(slots=True)
class Interface:
    """name: of the interface. held: addresses that were put there."""

    name: str
    held: set[str] = field(default_factory=set)

    def hold(self, wanted: Iterable[str]) -> dict[str, str]:
        """Makes the interface have exactly these of all that were put there; why not, by address."""
        kept, failed = set(wanted), {}
        for address in sorted(self.held - kept):
            self.held.discard(address)
            _ask(_DELETE, 0, self.name, address)  # one that somebody else took away is gone as well
        for address in sorted(kept - self.held):
            problem = _ask(_NEW, _CREATE | _REPLACE, self.name, address)
            if problem:
                failed[address] = problem
            else:
                self.held.add(address)
        return failed


def _ask(kind: int, flags: int, interface: str, address: str) -> str:
    """What the kernel has against it; empty when it is done."""
    try:
        index = socket.if_nametoindex(interface)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
            kernel.bind((0, 0))
            kernel.send(request(kind, flags, index, address))
            return answer(kernel.recv(4096))
    except OSError as error:
        return f"{interface}: {error.strerror or error}"


def request(kind: int, flags: int, index: int, address: str) -> bytes:
    """The message that adds or deletes an IPv4 address."""
    raw = socket.inet_aton(address)
    body = struct.pack("=BBBBI", socket.AF_INET, _ALONE, 0, 0, index)
    for attribute in (_LOCAL, _ADDRESS):
        body += struct.pack("=HH", 4 + len(raw), attribute) + raw
    return _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | _ACK | flags, 1, 0) + body


def answer(message: bytes) -> str:
    """The error in an acknowledgement; empty for success."""
    _, kind, _, _, _ = _HEADER.unpack_from(message)
    if kind != _ERROR:
        return f"unexpected answer of type {kind}"
    (code,) = struct.unpack_from("=i", message, _HEADER.size)
    return os.strerror(-code) if code else ""
