"""The corpus against nginx and haproxy before the same backend: we are never more lenient than both of them.

Where we refuse what both serve, the row stands under its reason.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.edge.wire.smuggling import CORPUS, Row
from tests.kit.backends import Backend, Received, Wire, backend, free_port
from tests.kit.eventually import eventually
from tests.kit.raw_http import client

PEERS = {
    "nginx": """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  client_header_timeout 1s; client_body_timeout 1s;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{backend}; proxy_http_version 1.1; }}
  }}
}}
""",
    "haproxy": """
global
  maxconn 256
defaults
  mode http
  timeout connect 2s
  timeout client 2s
  timeout server 2s
  timeout http-request 1s
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  server s 127.0.0.1:{backend}
""",
}

STRICTER = {
    "only CRLF ends a line (RFC 9112, 2.2 lets a recipient take LF, and smuggling lives on it)": (
        *(
            "lines ended by LF",
            "the head ended by LF LF",
            "the head ended by CRLF LF",
            "a bare LF in a value",
        ),
        *("a coding hidden in another value by a bare LF", "a size ended by LF", "data ended by LF"),
        *("the last chunk ended by LF", "the trailer ended by LF"),
    ),
    "folding is obsolete everywhere (RFC 9112, 5.2)": ("a folded trailer",),
    "a trailer must not speak of framing (RFC 9110, 6.5.1)": ("a trailer that names a length",),
    "control characters (RFC 9110, 5.5)": (
        *("a control character in a value", "a DEL in a value", "an extension with a NUL"),
        *("a DEL in the target", "a fragment"),
    ),
    "bounds": ("an extension of 200,000 bytes", "a host of 300 bytes", "150 fields"),
    "we are no forward proxy": ("an absolute target", "an absolute target in https"),
    "a host is a name and a port (RFC 9110, 7.2)": (
        *("a host with a user", "a host with a query", "a host with a fragment", "a host with a backslash"),
        *("a port that is no number", "a port of eight digits", "a bracket that does not close"),
        *("a host over 127",),
    ),
    "only the versions and methods we know": ("HTTP/1.2", "an unknown method", "a WebDAV method"),
    "an expectation nobody knows cannot be met (RFC 9110, 10.1.1)": (
        "expects what nobody knows",
        "expects twice",
    ),
    "upgrades are refused, not ignored": (
        *("a websocket", "h2c", "h2c, a request behind", "an upgrade Connection does not name"),
    ),
}
"""Why -> rows that both peers (one version or another of them) serve and we refuse."""


def _binary(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def _running(name: str, folder: Path, port: int, backend_port: int) -> Iterator[None]:
    config = folder / f"{name}.conf"
    config.write_text(PEERS[name].format(folder=folder, port=port, backend=backend_port))
    flags = ["-c", str(config)] if name == "nginx" else ["-db", "-f", str(config)]
    log = (folder / f"{name}.out").open("wb")
    process = subprocess.Popen([_binary(name), *flags], stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)
        log.close()


async def _serves(port: int, row: Row) -> bool:
    """Whether the first answer is below 400; silence and a close are refusals."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        async with client(port) as raw:
            await raw.send(row.raw)
            async with asyncio.timeout(3):
                while (status := int((await raw.until(b"\r\n\r\n")).split(b" ")[1])) < 200:
                    pass
            return status < 400
    return False


def _is_listening(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


async def _once(_: Received, wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    wire.finish()


@pytest.fixture
async def upstream() -> AsyncIterator[Backend]:
    async with backend(_once) as made:
        yield made


async def test_we_are_never_more_lenient_than_both_and_know_where_we_are_stricter(
    upstream: Backend, tmp_path: Path
) -> None:
    ports = {name: free_port() for name in PEERS}
    with (
        _running("nginx", tmp_path, ports["nginx"], upstream.port),
        _running("haproxy", tmp_path, ports["haproxy"], upstream.port),
    ):
        await eventually(lambda: all(map(_is_listening, ports.values())), "both listening")
        theirs = {row.name: [await _serves(port, row) for port in ports.values()] for row in CORPUS}
    ours = {row.name: row.status < 400 for row in CORPUS}
    lenient = [name for name, served in theirs.items() if ours[name] and not any(served)]
    stricter = [name for name, served in theirs.items() if not ours[name] and all(served)]
    assert lenient == []
    known = {name for names in STRICTER.values() for name in names}
    assert set(stricter) <= known
    assert known <= {row.name for row in CORPUS}
