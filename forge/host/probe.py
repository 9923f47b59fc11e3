"""Asks a port once whether it answers: TCP takes a connection, HTTP answers 200 to 399.

One deadline covers a whole probe, so that a peer that accepts and then says nothing, or one byte a
second, fails in time. Plain sockets: an HTTP library costs more at import than a probe takes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time

from forge.plan.ports import ProbeResult

_MAX_HEAD = 16 * 1024
"""Bytes of an answer read in search of its status line; servers bound their heads at 8 to 16 KiB."""

_MAX_BODY = 64 * 1024
_DRAIN_S = 0.1
"""A short body is read, so that closing does not reset the server's write; a stream is not waited for."""


def tcp(address: str, port: int, timeout_s: float) -> ProbeResult:
    """Passes when a connection is taken. address: an IP address, of either family."""
    try:
        with socket.create_connection((address, port), timeout=timeout_s):
            return ProbeResult(ok=True, detail="connected")
    except OSError as error:
        return _failed(error, timeout_s)


def http(address: str, port: int, path: str, timeout_s: float) -> ProbeResult:
    """Passes when GET path is answered with a status of 200 to 399; redirects are not followed."""
    deadline = time.monotonic() + timeout_s
    try:
        with socket.create_connection((address, port), timeout=timeout_s) as peer:
            peer.sendall(_request(address, port, path))
            head = _head(peer, deadline)
            _drain(peer)
    except OSError as error:
        return _failed(error, timeout_s)
    return _verdict(head)


def _request(address: str, port: int, path: str) -> bytes:
    host = f"[{address}]" if ":" in address else address
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "User-Agent: praxis-forge", "Accept: */*")
    return "\r\n".join((*lines, "Connection: close", "", "")).encode()


def _head(peer: socket.socket, deadline: float) -> bytes:
    """What was answered up to the end of the head, its bound, or the end of the stream."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        peer.settimeout(left)
        got = peer.recv(4096)
        if not got:
            break
        head += got
    return head


def _drain(peer: socket.socket) -> None:
    until = time.monotonic() + _DRAIN_S
    taken = 0
    with contextlib.suppress(OSError):
        while taken < _MAX_BODY and (left := until - time.monotonic()) > 0:
            peer.settimeout(left)
            got = peer.recv(16 * 1024)
            if not got:
                return
            taken += len(got)


def _verdict(head: bytes) -> ProbeResult:
    if not head:
        return ProbeResult(ok=False, detail="closed without an answer")
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        return ProbeResult(ok=False, detail="the answer is not HTTP")
    status = int(words[1])
    return ProbeResult(ok=200 <= status < 400, detail=f"HTTP {status}")


def _failed(error: OSError, timeout_s: float) -> ProbeResult:
    if isinstance(error, TimeoutError):
        return ProbeResult(ok=False, detail=f"no answer within {timeout_s:g} s")
    text = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
    return ProbeResult(ok=False, detail=text[:1].lower() + text[1:])
