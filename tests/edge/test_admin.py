"""What an operator sees and may do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.kit import backends
from tests.kit.edges import Edge, edge, write

TEXT = """
admin: {{address: "127.0.0.1:0"{more}}}
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: headers
        request_set: [{{name: Authorization, value: Bearer canary}}]
      - {{filter: static_response, status: 200, body: "{body}"}}
clusters:
  - {{name: east, endpoints: ["127.0.0.1:9"]}}
"""


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Edge]:
    async with edge(tmp_path, TEXT.format(more="", body="one")) as running:
        yield running


async def ask(made: Edge, path: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{made.admin_port}", timeout=20) as client:
        return await client.request(method, path)


async def test_alive_and_ready(made: Edge) -> None:
    assert [(await ask(made, path)).text for path in ("/livez", "/readyz")] == ["ok\n", "ready\n"]


async def test_a_drain_withdraws_readiness_while_requests_are_served(made: Edge) -> None:
    assert (await ask(made, "/drain", "POST")).status_code == 202
    assert ((await ask(made, "/readyz")).status_code, (await ask(made, "/readyz")).text) == (
        503,
        "draining\n",
    )
    assert (await ask(made, "/livez")).status_code == 200
    async with httpx.AsyncClient(timeout=20) as client:
        assert (await client.get(made.url())).status_code == 200
    await ask(made, "/drain", "DELETE")
    assert (await ask(made, "/readyz")).status_code == 200


async def test_details_count_endpoints_and_tell_of_rejections(made: Edge, tmp_path: Path) -> None:
    before = (await ask(made, "/details")).json()
    assert before["clusters"] == {"east": {"endpoints": 1, "healthy": 1}}
    write(tmp_path, "nonsense: 1")
    await made.reloader.reload()
    after = (await ask(made, "/details")).json()["config"]
    assert after["rejections"] == 1
    assert after["digest"] == before["config"]["digest"]
    assert (
        "nonsense: unknown key" in after["last_rejection"]
        or "listeners: is required" in after["last_rejection"]
    )


async def test_endpoints_are_named_where_that_was_asked_for(tmp_path: Path) -> None:
    async with edge(tmp_path, TEXT.format(more=", verbose: true", body="x")) as made:
        shown = (await ask(made, "/details")).json()["clusters"]
    assert shown == {"east": {"127.0.0.1:9": {"healthy": True, "in_flight": 0}}}


async def test_the_configuration_is_shown_without_secrets(made: Edge) -> None:
    answer = await ask(made, "/config")
    assert "canary" not in answer.text
    assert answer.json()["shutdown_timeout_secs"] == 30


async def test_metrics_count_what_was_served(made: Edge) -> None:
    async with httpx.AsyncClient(timeout=20) as client:
        await client.get(made.url())
    text = (await ask(made, "/metrics")).text
    assert (
        'praxis_http_requests_total{cluster="none",listener="main",method="GET",status_class="2xx"} 1.0'
        in text
    )
    assert 'praxis_http_active_requests{listener="main"} 0.0' in text


async def test_readiness_may_have_an_address_of_its_own_with_nothing_else_on_it(tmp_path: Path) -> None:
    port = backends.free_port()
    more = f', readiness_address: "127.0.0.1:{port}"'
    async with edge(tmp_path, TEXT.format(more=more, body="x")), httpx.AsyncClient(timeout=20) as client:
        found = [
            (await client.get(f"http://127.0.0.1:{port}{path}")).status_code
            for path in ("/readyz", "/config")
        ]
    assert found == [200, 404]
