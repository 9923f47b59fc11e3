"""Operators for tests: their certificates, their processes, and the API they work on read as values."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from grid.contract.overlay import Overlay, Scope
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected
from grid.kube.port import CONFIG_MAP, KubeFault
from tests.kit.certs import Authority, Leaf
from tests.kit.embedded_api import SYSTEM, EmbeddedApi

DEADLINE_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def identity(folder: Path, authority: Authority, leaf: Leaf) -> Path:
    """*leaf* with its key and the CA, named as an operator expects them."""
    folder.mkdir(parents=True)
    shutil.copy(authority.path, folder / "ca.crt")
    shutil.copy(leaf.certificate, folder / "tls.crt")
    shutil.copy(leaf.key, folder / "tls.key")
    return folder


@contextlib.asynccontextmanager
async def door(authority: Authority, leaf: Leaf) -> AsyncIterator[int]:
    """A site's gateway as far as a handshake goes: mutual TLS on a port of loopback."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf.certificate, leaf.key)
    context.load_verify_locations(authority.path)
    context.verify_mode = ssl.CERT_REQUIRED

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=context)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


class Operator:
    """One operator process."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    async def get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as http:
            return await http.get(path)

    async def explained(self, network: str, gateway: str) -> str:
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as http:
            return (await http.post("/explain", json={"network": network, "gateway": gateway})).text

    async def leads(self) -> bool | None:
        """None while it does not answer."""
        try:
            return bool((await self.get("/status")).json()["leads"])
        except httpx.HTTPError:
            return None

    async def ready(self) -> int:
        """The status of /readyz."""
        return (await self.get("/readyz")).status_code

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """SIGTERM, and how it ended."""
        self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), DEADLINE_S)


@contextlib.asynccontextmanager
async def operator(api: EmbeddedApi, tls: Path, site: str, **env: str) -> AsyncIterator[Operator]:
    """A running operator; killed at the end, if it still runs."""
    port = free_port()
    settings = {
        "GRID_SITE": site,
        "GRID_TLS_DIR": str(tls),
        "GRID_ADMIN_ADDR": f"127.0.0.1:{port}",
        "GRID_LEASE_S": "6",
        "GRID_PROBE_EVERY_S": "0.2",
        "KUBECONFIG": str(api.kubeconfig),
        **env,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "grid.reconcile.main", env={**os.environ, **settings}
    )
    running = Operator(process, port)
    try:
        yield running
    finally:
        await running.kill()


async def overlay_of(api: EmbeddedApi, gateway: str) -> Overlay | None:
    """What a gateway's ConfigMap holds, read as the gateway reads it; None if that is no overlay."""
    try:
        found = await api.client.get(CONFIG_MAP, f"grid-overlay-production-{gateway}", SYSTEM)
        return parse(
            found["data"]["grid-config.json"].encode(), expected=Scope("production", gateway, gateway)
        )
    except (KubeFault, OverlayRejected, KeyError):
        return None


async def told(api: EmbeddedApi, gateway: str) -> list[str]:
    """Its candidates by cluster, best first, with `=` before those open to existing sessions only."""
    overlay = await overlay_of(api, gateway)
    return [
        ("=" if candidate.admission == "existing_only" else "") + candidate.cluster
        for candidate in (overlay.candidates if overlay else ())
    ]
