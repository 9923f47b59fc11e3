"""Runs a command in a container through the engine's API, with a file as its input.

The engine turns the connection of such a command into a plain stream both ways (`101 Switching
Protocols`): what is sent is its input, closing our half is the end of it, and what comes back are
frames as in a log. The kernel copies the file to the socket, so that a large one costs this process nothing.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from forge.errors import OperationFailed
from forge.host.docker_logs import frames
from forge.host.engine import Engine
from forge.host.unix_http import Request
from forge.plan.ports import Cancel

_TICK_S = 0.1
_PIECE = 4 * 1024 * 1024
_MAX_HEAD = 64 * 1024
_SETTLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Ran:
    """code: None where cancel ended it. text: what it wrote, on either stream."""

    code: int | None
    out: str
    err: str

    @property
    def text(self) -> str:
        return (self.err or self.out).strip()


def run(engine: Engine, container: str, argv: Sequence[str], timeout_s: float = 60.0) -> Ran:
    """Without input. Raises EngineRefused (the container does not run), OperationFailed."""
    made = _prepared(engine, container, argv, given=False)
    start = Request("POST", f"/exec/{made}/start", body={"Detach": False}, timeout_s=timeout_s)
    with engine.stream(start) as pieces:
        told = list(frames(pieces))
    return _ran(engine, made, told)


def feed(
    engine: Engine, container: str, argv: Sequence[str], file: BinaryIO, size: int, cancel: Cancel
) -> Ran:
    """With the first *size* bytes of the file as its input; the file's position is neither used nor
    moved, so that several may read it at once. Raises EngineRefused, OperationFailed."""
    made = _prepared(engine, container, argv, given=True)
    try:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(engine.socket_path)
            rest = _upgraded(peer, made)
            received = _pump(peer, file.fileno(), size, cancel)
    except OSError as error:
        raise _broken(str(error)) from error
    if received is None:
        return Ran(None, "", "")
    return _ran(engine, made, list(frames([rest, received])))


def _prepared(engine: Engine, container: str, argv: Sequence[str], *, given: bool) -> str:
    body = {"Cmd": list(argv), "AttachStdin": given, "AttachStdout": True, "AttachStderr": True}
    return str(engine.post(f"/containers/{container}/exec", body=body)["Id"])


def _upgraded(peer: socket.socket, made: str) -> bytes:
    """Begins the command; gives what came behind the head already."""
    body = json.dumps({"Detach": False, "Tty": False}).encode()
    lines = [f"POST /exec/{made}/start HTTP/1.1", "Host: engine", "Connection: Upgrade", "Upgrade: tcp"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    peer.sendall("\r\n".join((*lines, "", "")).encode() + body)
    peer.settimeout(60.0)
    buffer = b""
    while b"\r\n\r\n" not in buffer and len(buffer) < _MAX_HEAD:
        piece = peer.recv(4096)
        if not piece:
            break
        buffer += piece
    head, _, rest = buffer.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status not in ([b"101"], [b"200"]):
        raise _broken(head.decode("latin-1").partition("\r\n")[0] or "it closed the connection")
    return rest


def _pump(peer: socket.socket, file: int, size: int, cancel: Cancel) -> bytes | None:
    """Sends the file and reads what comes back, until the command has ended; None where cancelled."""
    peer.setblocking(False)  # noqa: FBT003 - the socket's own word
    sent, received = 0, bytearray()
    if not size:
        peer.shutdown(socket.SHUT_WR)
    while not cancel.is_set():
        wants = [peer] if sent < size else []
        readable, writable, _ = select.select([peer], wants, [], _TICK_S)
        try:
            if writable:
                sent += os.sendfile(peer.fileno(), file, sent, min(_PIECE, size - sent))
                if sent >= size:
                    peer.shutdown(socket.SHUT_WR)
            if readable:
                piece = peer.recv(64 * 1024)
                if not piece:
                    return bytes(received)
                received += piece
        except BlockingIOError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            sent = size  # it ended before it had read all: what it said comes yet, or has come
            if not readable:
                return bytes(received)
    return None


def _ran(engine: Engine, made: str, told: Sequence[tuple[str, bytes]]) -> Ran:
    """With its exit code, which an engine knows a moment after the last byte."""
    text = {"stdout": b"", "stderr": b""}
    for stream, piece in told:
        text[stream] += piece
    code = engine.get(f"/exec/{made}/json").get("ExitCode")
    until = _SETTLE_S
    while code is None and until > 0:
        select.select([], [], [], _TICK_S)
        until -= _TICK_S
        code = engine.get(f"/exec/{made}/json").get("ExitCode")
    out, err = (text[s].decode("utf-8", "replace") for s in ("stdout", "stderr"))
    return Ran(-1 if code is None else int(code), out, err)


def _broken(why: str) -> OperationFailed:
    failed = OperationFailed(
        "FG0302",
        "the container engine broke off",
        why=why,
        hint="run the same command again; what was done so far is kept",
    )
    failed.may_pass = True
    return failed
