"""A container engine that says what it is told to: one written answer a connection, on a unix socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PING = b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK"
Script = Sequence[bytes | Callable[[socket.socket], None]]


@contextmanager
def scripted(path: Path, answers: Script) -> Iterator[list[bytes]]:
    """An engine that gives these answers, one a connection, and closes; gives what it was asked."""
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            for answer in answers:
                peer, _ = server.accept()
                with peer:
                    asked.append(peer.recv(65536))
                    if callable(answer):
                        answer(peer)
                    else:
                        peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield asked
        thread.join(30)
        assert not thread.is_alive(), "not everything was asked for"
    path.unlink()


def json_answer(text: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(text), text)
