"""One health probe: can a connection be made, does a page answer with the expected status."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

from edge.wire.pool import Endpoint, UpstreamTls

_MAX_LINE_BYTES = 1024


async def answers_tcp(endpoint: Endpoint, timeout_s: float, tls: UpstreamTls | None = None) -> bool:
    """Whether a connection, with its handshake, is made in time."""
    return await _ask(endpoint, timeout_s, tls, None) is not None


async def answers_http(
    endpoint: Endpoint,
    timeout_s: float,
    *,
    path: str = "/",
    expected_status: int = 200,
    tls: UpstreamTls | None = None,
) -> bool:
    """Whether GET *path* answers with *expected_status* in time. Only the status line is read."""
    request = f"GET {path} HTTP/1.1\r\nHost: health-check\r\nConnection: close\r\n\r\n".encode("ascii")
    line = await _ask(endpoint, timeout_s, tls, request)
    parts = (line or b"").split(b" ", 2)
    return len(parts) > 1 and parts[0].startswith(b"HTTP/1.") and parts[1] == b"%d" % expected_status


async def _ask(
    endpoint: Endpoint, timeout_s: float, tls: UpstreamTls | None, request: bytes | None
) -> bytes | None:
    """The first line of the answer, empty without a request; None when there was none in time."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(
                endpoint.host,
                endpoint.port,
                limit=_MAX_LINE_BYTES,
                ssl=tls.context() if tls else None,
                server_hostname=tls.server_name if tls else None,
            )
            if request is None:
                return b""
            writer.write(request)
            return await reader.readuntil(b"\r\n")
    except (OSError, TimeoutError, ssl.SSLError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    finally:
        if writer is not None:
            with suppress(OSError):
                writer.transport.abort()
