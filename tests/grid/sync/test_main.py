"""The command itself, as a process, against a real API: first document, changes, bad start, signals, rights."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from grid.kube.port import CONFIG_MAP
from tests.kit.embedded_api import SYSTEM, EmbeddedApi, embedded_api, prepare
from tests.kit.eventually import eventually
from tests.kit.overlays import document, encoded

NAME = "grid-overlay-production-edge-us-east"
LASTING = {"generated_at": "2026-07-25T12:00:00Z", "valid_until": "2126-07-25T12:00:00Z"}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[EmbeddedApi]:
    async with embedded_api(tmp_path / "cluster") as running:
        await prepare(running.client)
        yield running


async def put(api: EmbeddedApi, made: dict[str, Any] | str) -> None:
    text = made if isinstance(made, str) else encoded(made).decode()
    metadata = {"name": NAME, "namespace": SYSTEM}
    await api.client.apply(CONFIG_MAP, {"metadata": metadata, "data": {"grid-config.json": text}})


def command(api: EmbeddedApi, output: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "grid.sync.main",
        *("--kubeconfig", str(api.kubeconfig), "--configmap", NAME, "--output", str(output)),
        *("--expect-network", "production", "--expect-gateway", "edge-us-east"),
        *more,
    ]


async def ended(argv: list[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *argv, stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, said.decode()


def revision(path: Path) -> int | None:
    return int(json.loads(path.read_bytes())["revision"]) if path.exists() else None


async def test_once_writes_the_document_and_ends(api: EmbeddedApi, tmp_path: Path) -> None:
    await put(api, document(**LASTING))
    code, _ = await ended(command(api, tmp_path / "out.json", "--once"))
    assert (code, revision(tmp_path / "out.json")) == (0, 42)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "404 NotFound", id="no ConfigMap"),
        pytest.param("{", "malformed_json", id="no overlay"),
        pytest.param(encoded(document(network="other")).decode(), "scope_mismatch", id="another network's"),
    ],
)
async def test_without_a_valid_overlay_it_does_not_start(
    api: EmbeddedApi, tmp_path: Path, text: str | None, reason: str
) -> None:
    if text is not None:
        await put(api, text)
    code, said = await ended(command(api, tmp_path / "out.json"))
    assert code == 1
    assert reason in said
    assert revision(tmp_path / "out.json") is None


async def test_it_follows_says_what_it_has_and_ends_on_a_signal(api: EmbeddedApi, tmp_path: Path) -> None:
    output, port = tmp_path / "out" / "grid-config.json", free_port()
    await put(api, document(**LASTING))
    process = await asyncio.create_subprocess_exec(
        *command(api, output, "--health-addr", f"127.0.0.1:{port}")
    )
    try:
        await eventually(lambda: revision(output) == 42, "the first document")
        await put(api, document([], revision=43, **LASTING))
        await eventually(lambda: revision(output) == 43, "the second")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            assert (await http.get("/readyz")).status_code == 200
            assert (await http.get("/status")).json()["revision"] == "43"
            assert "grid_overlay_sync_revision 43.0" in (await http.get("/metrics")).text
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert revision(output) == 43


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("address", ["0.0.0.0:9091", "8.8.8.8:9091", ":9091"])
async def test_admin_pages_are_never_on_a_public_address(tmp_path: Path, address: str) -> None:
    argv = [
        sys.executable,
        "-m",
        "grid.sync.main",
        "--configmap",
        "a",
        "--output",
        "b",
        "--health-addr",
        address,
    ]
    code, said = await ended(argv)
    assert code == 2
    assert "loopback or private" in said
