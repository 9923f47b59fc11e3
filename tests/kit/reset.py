"""A peer that resets the connection between connect and the handshake, as a process being killed does."""

from __future__ import annotations

import select
import socket
import struct

DEADLINE_S = 10.0


def refused_socket() -> socket.socket:
    """A socket that was connected and whose peer has reset it: known to be so, nothing is raced."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        plain = socket.create_connection(listener.getsockname(), DEADLINE_S)
        peer, _ = listener.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
    poll = select.poll()
    poll.register(plain, select.POLLHUP)
    assert poll.poll(DEADLINE_S * 1000), "the reset did not arrive"
    return plain
