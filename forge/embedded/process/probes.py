"""Checks of a process for those who live in the event loop, as a kubelet makes them: TCP, HTTP, a command.

Forge's own checks of standalone services are in forge/host/probe.py, and block.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from forge.embedded.process import beside
from forge.embedded.process.supervised import Command
from forge.errors import OperationFailed

_MAX_LINE = 8 * 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """ok: the check passed. detail: one line (`HTTP 503`, `connection refused`, `exit code 1: no file`)."""

    ok: bool
    detail: str


async def tcp(address: str, port: int, timeout_s: float) -> Verdict:
    """Passes when a connection is taken."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(address, port)
    except OSError as error:  # a TimeoutError is one
        return _failed(error, timeout_s)
    writer.transport.abort()
    return Verdict(ok=True, detail="connected")


async def http(
    address: str,
    port: int,
    path: str,
    timeout_s: float,
    *,
    headers: Mapping[str, str] | None = None,
    tls: bool = False,
) -> Verdict:
    """Passes on a status of 200 to 399. tls: without looking at the certificate, as a kubelet does."""
    try:
        async with asyncio.timeout(timeout_s):
            line = await _status_line(address, port, _request(address, port, path, headers or {}), tls=tls)
    except (OSError, ValueError) as error:
        return _failed(error, timeout_s)
    words = line.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].strip().isdigit():
        return Verdict(ok=False, detail="the answer is not HTTP" if line else "closed without an answer")
    status = int(words[1])
    return Verdict(200 <= status < 400, f"HTTP {status}")


async def command(name: str, wanted: Command, timeout_s: float) -> Verdict:
    """Passes on exit code 0. The detail ends with the first line it printed."""
    try:
        ended = await beside.run(name, wanted, timeout_s)
    except OperationFailed as error:
        return Verdict(ok=False, detail=error.why)
    if ended.code is None:
        return Verdict(ok=False, detail=f"no end within {timeout_s:g} s")
    first = (ended.stdout or ended.stderr).decode("utf-8", "replace").strip().partition("\n")[0]
    return Verdict(ended.code == 0, f"exit code {ended.code}" + (f": {first[:200]}" if first else ""))


def _request(address: str, port: int, path: str, headers: Mapping[str, str]) -> bytes:
    host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    fields = {"Host": host, "User-Agent": "praxis-forge", "Accept": "*/*", **headers, "Connection": "close"}
    lines = [f"GET {path or '/'} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode()


async def _status_line(address: str, port: int, request: bytes, *, tls: bool) -> bytes:
    reader, writer = await asyncio.open_connection(
        address, port, ssl=_unverified() if tls else None, limit=_MAX_LINE
    )
    try:
        writer.write(request)
        line = await reader.readline()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(0.05):  # a short answer is read, so that its server sees no reset
                await reader.read(_MAX_LINE)
        return line
    finally:
        writer.transport.abort()


def _unverified() -> ssl.SSLContext:
    # Not create_default_context: reading the system's authorities, to ask none, takes 40 ms.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _failed(error: OSError | ValueError, timeout_s: float) -> Verdict:
    if isinstance(error, TimeoutError):
        return Verdict(ok=False, detail=f"no answer within {timeout_s:g} s")
    if isinstance(error, OSError) and error.errno:
        text = os.strerror(error.errno) if error.errno > 0 else str(error)
        return Verdict(ok=False, detail=text[:1].lower() + text[1:])
    return Verdict(ok=False, detail=str(error))
