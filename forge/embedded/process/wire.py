"""What the supervisor's daemon and its client share: files, the socket, one JSON line each way.

    request   {"protocol": 1, "op": "stop", "name": "edge", "grace_s": 10}
    answer    {"ok": ...}   or   {"error": {"code", "what", "why", "hint", "changed"}}

The socket lies in the environment's own folder, however long its path is: both ends reach it through a
descriptor of the folder, since a socket's path holds 107 bytes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge.errors import ForgeError, NotOurs, OperationFailed

PROTOCOL = 1
"""Raised by one with every change that an older end would misread."""

MAX_LINE = 8 * 1024 * 1024
"""Bytes of one message. A service's environment is the largest part, and the kernel takes 2 MiB of it."""


@dataclass(frozen=True, slots=True)
class Files:
    """The daemon's folder, 0700: its lock, socket, log and scope, and the folder of records."""

    folder: Path

    @property
    def lock(self) -> Path:
        """Held by the daemon as long as it lives, whatever ends it."""
        return self.folder / "lock"

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def scope(self) -> Path:
        """What marks this folder's processes; kept so that a later daemon finds an earlier one's."""
        return self.folder / "scope"

    @property
    def services(self) -> Path:
        return self.folder / "services"


def listen(files: Files) -> socket.socket:
    """The daemon's end. Takes the place of a dead one's. Raises OSError."""
    files.socket.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _short(files.socket) as path:
        server.bind(path)
    files.socket.chmod(0o600)
    server.listen(64)
    return server


def connect(files: Files, timeout_s: float) -> socket.socket | None:
    """The client's end; None when no daemon listens."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(timeout_s)
    try:
        with _short(files.socket) as path:
            peer.connect(path)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        peer.close()
        return None
    except OSError:
        peer.close()
        raise
    return peer


def listener_pid(files: Files) -> int | None:
    """The process that listens on the socket, also when it is stuck; None when nobody does."""
    peer = connect(files, 1.0)
    if peer is None:
        return None
    with peer:
        return peer_of(peer)[0]


def peer_of(peer: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process at the other end; for a client, of the one that made the listener."""
    pid, uid, _gid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid), int(uid)


def failure(error: ForgeError) -> dict[str, Any]:
    """An error as an answer holds it."""
    kept = ("code", "what", "why", "hint", "changed", "detail")
    return {"kind": type(error).__name__, **{name: getattr(error, name) for name in kept}}


def raised(raw: dict[str, Any]) -> ForgeError:
    """The error that failure() wrote."""
    kind = NotOurs if raw["kind"] == "NotOurs" else OperationFailed
    return kind(
        raw["code"],
        raw["what"],
        why=raw["why"],
        hint=raw["hint"],
        changed=raw["changed"],
        detail=tuple(raw["detail"]),
    )


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
