"""What the benchmark of the embedded API needs beside it: a bare peer, cheap watchers, a process's costs."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import ssl
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import web


def _serve_bare(certificate: str, key: str, port: Any, stop: Flag) -> None:
    """Answers the same bytes to everything."""
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"k":"v"}}'

    async def serve() -> None:
        async def handle(request: web.BaseRequest) -> web.Response:
            await request.read()
            return web.Response(body=body, content_type="application/json")

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        runner = web.ServerRunner(web.Server(handle, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        port.value = runner.addresses[0][1]
        await asyncio.to_thread(stop.wait)
        await runner.cleanup()

    uvloop.run(serve())


@contextlib.contextmanager
def bare(pki: Path) -> Iterator[str]:
    """The URL of a handler that does nothing, over TLS, in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    port, stop = spawn.Value("i", 0), spawn.Event()
    arguments = (str(pki / "server.crt"), str(pki / "server.key"), port, stop)
    peer = spawn.Process(target=_serve_bare, args=arguments, daemon=True)
    peer.start()
    while not port.value:
        time.sleep(0.01)
    yield f"https://127.0.0.1:{port.value}"
    stop.set()
    peer.join()


class Watch(asyncio.Protocol):
    """One open watch that costs next to nothing: notes when the bytes of each mark come in.

    seen: (mark, when) in order. A mark is the value of the data's only key.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._rest = b""
        self.seen: list[tuple[str, float]] = []
        self.open = asyncio.Event()
        self._awaited = ("", asyncio.Event())

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.Transport = transport
        transport.write(f"GET {self._path} HTTP/1.1\r\nHost: api\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self.open.set()
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            _, found, after = line.partition(b'"data":{"k":"')
            if found:
                self.seen.append((after.partition(b'"')[0].decode(), now))
        if self.seen and self.seen[-1][0] == self._awaited[0]:
            self._awaited[1].set()

    async def reached(self, mark: str) -> None:
        """Returns once the last thing seen is *mark*."""
        if not self.seen or self.seen[-1][0] != mark:
            self._awaited = (mark, asyncio.Event())
            await self._awaited[1].wait()


async def watches(url: str, context: ssl.SSLContext, path: str, count: int) -> list[Watch]:
    """*count* watches that have had their answer's head."""
    host, _, port = url.removeprefix("https://").rpartition(":")
    loop = asyncio.get_running_loop()
    made = []
    for _ in range(count):
        _, protocol = await loop.create_connection(lambda: Watch(path), host, int(port), ssl=context)
        made.append(protocol)
    for one in made:
        await one.open.wait()
    return made


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024
