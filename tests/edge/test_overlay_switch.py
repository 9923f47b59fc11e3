"""A running gateway follows its overlay: new requests move from A to B without a restart, and no bad file
moves them."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx

from tests.edge.test_edge_main import next_line, serving
from tests.kit.backends import always, backend
from tests.kit.edges import write
from tests.kit.overlays import candidate, document, encoded

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: grid_route, overlay_file: overlay/grid-config.json}}
      - {{filter: load_balancer}}
clusters:
  - {{name: gateway-a, endpoints: ["127.0.0.1:{a}"]}}
  - {{name: gateway-b, endpoints: ["127.0.0.1:{b}"]}}
"""


def answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def put(path: Path, content: bytes) -> None:
    new = path.with_name(".new")
    new.write_bytes(content)
    new.replace(path)


def overlay(*sites: str, revision: int) -> bytes:
    now = datetime.fromtimestamp(time.time(), UTC)
    written = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    until = now.replace(year=now.year + 1, day=1).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = [candidate(site, rank=rank) for rank, site in enumerate(sites)]
    return encoded(document(found, revision=revision, generated_at=written, valid_until=until))


async def test_update_from_a_to_b_without_restart(tmp_path: Path) -> None:
    file = tmp_path / "overlay" / "grid-config.json"
    file.parent.mkdir()
    put(file, overlay("a", revision=1))
    async with backend(always(answer(b"a"))) as a, backend(always(answer(b"b"))) as b:
        config = write(tmp_path, TEXT.format(a=a.port, b=b.port))
        with serving(config) as (process, port):
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
                await _answers(client, "a")
                put(file, overlay("b", revision=2))
                await _answers(client, "b")
                put(file, b'{"version":"invalid","load_balancer":null}')
                line = await asyncio.to_thread(next_line, process, "overlay rejected, the one in use stays")
                assert line["reason"] == "malformed_structure"
                await _answers(client, "b")
                put(file, overlay("a", "b", revision=3))
                await _answers(client, "a")
            assert process.poll() is None


async def _answers(client: httpx.AsyncClient, site: str) -> None:
    """Within a generous time; until then only the other one may answer."""
    for _ in range(2_000):
        reply = await client.post("/v1/chat/completions", json={"model": "shared-model"})
        assert reply.status_code == 200
        if reply.text == site:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{site} never answered")
