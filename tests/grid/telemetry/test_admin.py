"""Admin pages answer from memory, on addresses that are not the world's."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from grid.telemetry import admin
from grid.telemetry.metrics import Metrics

against: list[str] = []


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    against.clear()
    metrics = Metrics()
    metrics.counter("reloads_total", "Reloads.").add()
    pages = [
        admin.livez(),
        admin.readyz(lambda: against),
        admin.scrape(metrics),
        admin.status(lambda: {"revision": 42}),
        admin.Page("/drain", lambda body: admin.text(f"draining {body.decode()}", 202), "POST"),
    ]
    server = await admin.serve(pages, "127.0.0.1", 0)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as made:
            yield made
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        pytest.param("GET", "/livez", 200, "ok\n", id="alive"),
        pytest.param("GET", "/readyz", 200, "ready\n", id="ready"),
        pytest.param("GET", "/status", 200, '{"revision":42}\n', id="status"),
        pytest.param("POST", "/drain", 202, "draining now\n", id="an action of its own"),
        pytest.param("GET", "/drain", 405, None, id="an action is not a GET"),
        pytest.param("GET", "/secrets", 404, None, id="unknown path"),
    ],
)
async def test_pages(
    client: httpx.AsyncClient, method: str, path: str, status: int, body: str | None
) -> None:
    answer = await client.request(method, path, content=b"now" if method == "POST" else None)
    assert answer.status_code == status
    assert body is None or answer.text == body


async def test_unready_says_why(client: httpx.AsyncClient) -> None:
    against.extend(["draining", "overlay is older than 30 s"])
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "draining\noverlay is older than 30 s\n")


async def test_metrics_are_an_exposition(client: httpx.AsyncClient) -> None:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "reloads_total 1.0" in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "rebound.example"}, 421, id="a name that was rebound to us"),
        pytest.param({"Origin": "https://rebound.example"}, 421, id="a page elsewhere"),
        pytest.param({"Host": "localhost:1"}, 202, id="localhost"),
        pytest.param({"Host": "[::1]:1"}, 202, id="an address of version 6"),
    ],
)
async def test_a_browser_cannot_change_anything(
    client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    assert (await client.post("/drain", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("host", "may"),
    [
        pytest.param("127.0.0.1", True, id="loopback"),
        pytest.param("127.40.3.9", True, id="loopback of a lab"),
        pytest.param("::1", True, id="loopback of version 6"),
        pytest.param("172.18.0.9", True, id="a private lab address"),
        pytest.param("0.0.0.0", False, id="the wildcard"),
        pytest.param("::", False, id="the wildcard of version 6"),
        pytest.param("8.8.8.8", False, id="a public address"),
        pytest.param("100.64.7.1", True, id="a shared address, as pods of some clusters have"),
        pytest.param("fd00::7", True, id="a local address of version 6"),
        pytest.param("2606:4700::1111", False, id="a public address of version 6"),
        pytest.param("::ffff:8.8.8.8", False, id="a public address, mapped"),
        pytest.param("::ffff:0.0.0.0", False, id="the wildcard, mapped"),
        pytest.param("224.0.0.1", False, id="a group"),
        pytest.param("admin.local", False, id="a name"),
    ],
)
def test_where_admin_pages_may_listen(host: str, may: bool) -> None:  # a table's column
    assert admin.may_bind(host) is may
