"""What a transport can be asked or told beyond reading and writing: who is there, is it still, end it
hard."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from contextlib import suppress

from edge.wire.ports import Peer


def reset_on_close(transport: asyncio.Transport) -> None:
    """Let the end of this connection be seen as an error: a close in order would say that the body is
    whole."""
    with suppress(OSError):
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def peer_of(transport: asyncio.Transport) -> Peer:
    """Who is at the other end, as far as the socket and TLS can say."""
    name = transport.get_extra_info("peername")
    address, port = (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return Peer(address, port)
    return Peer(address, port, secure=True, certificate=tls.getpeercert(binary_form=True))


def is_readable(transport: asyncio.Transport) -> bool:
    """Whether bytes or an end of stream lie unread; on an idle connection either means that it is no longer
    good."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))
