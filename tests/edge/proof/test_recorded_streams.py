"""Recorded answers of real providers pass through unchanged, in whatever pieces they come."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.kit import backends
from tests.kit.backends import Received, Wire
from tests.kit.edges import edge

STREAMS = Path(__file__).parents[3].parent / "shared" / "data" / "streams"

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - {{filter: json_body_field, field: model, header: X-Model, required: false}}
      - {{filter: router, routes: [{{path_prefix: /, cluster: east}}]}}
      - filter: load_balancer
clusters:
  - {{name: east, endpoints: ["127.0.0.1:{port}"]}}
"""


@dataclass(frozen=True)
class Recorded:
    """One answer: its head's facts and its body as it was sent."""

    request: bytes
    path: str
    status: int
    content_type: str
    pieces: tuple[bytes, ...]


def recordings() -> list[Any]:
    found = [
        pytest.param(_recorded(turn[side]), id=f"{file.stem} turn {at} {side}")
        for file in sorted(STREAMS.glob("*.json"))
        for at, turn in enumerate(json.loads(file.read_text()).get("turns", []))
        for side in ("client", "upstream")
        if "response" in turn.get(side, {})
    ]
    return found or [pytest.param(None, id="none")]


def _recorded(side: dict[str, Any]) -> Recorded:
    request, response = side["request"], side["response"]
    body = response["body"]
    pieces = _frames(body) if body["kind"] == "sse" else (json.dumps(body.get("value")).encode(),)
    content_type = response["headers"].get("content-type", ["application/json"])[0]
    asked = json.dumps(request["body"].get("value")).encode()
    return Recorded(asked, request["path"], response["status"], content_type, pieces)


def _frames(body: dict[str, Any]) -> tuple[bytes, ...]:
    pieces = []
    for frame in body["frames"]:
        lines = [f"{key}: {frame[key]}" for key in ("event", "id", "retry") if frame[key] is not None]
        lines += [f"data: {line}" for line in (frame["data"] or "").split("\n")]
        pieces.append(("\n".join(lines) + "\n\n").encode())
    return (*pieces, b"data: [DONE]\n\n") if body["done"] else tuple(pieces)


@pytest.mark.shared
@pytest.mark.parametrize("recorded", recordings())
@pytest.mark.parametrize("cut", ["by event", "anywhere"])
async def test_bytes_are_the_same(tmp_path: Path, recorded: Recorded | None, cut: str) -> None:
    if recorded is None:
        pytest.skip("../shared is absent")
    pieces = recorded.pieces if cut == "by event" else _anywhere(b"".join(recorded.pieces))

    async def replay(_: Received, wire: Wire) -> None:
        head = f"HTTP/1.1 {recorded.status} X\r\ncontent-type: {recorded.content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        await wire.send(head.encode())
        for piece in pieces:
            await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await wire.send(b"0\r\n\r\n")

    async with (
        backends.backend(replay) as backend,
        edge(tmp_path, TEXT.format(port=backend.port)) as made,
        httpx.AsyncClient(timeout=20) as client,
    ):
        answer = await client.post(made.url() + recorded.path, content=recorded.request)
    assert answer.status_code == recorded.status
    assert answer.headers["content-type"] == recorded.content_type
    assert answer.content == b"".join(recorded.pieces)
    assert backend.received[0].body == recorded.request


def _anywhere(whole: bytes) -> tuple[bytes, ...]:
    """Cut at places that have nothing to do with events, the same ones every time."""
    source, pieces = random.Random(len(whole)), []
    while whole:
        size = source.randint(1, 97)
        pieces.append(whole[:size])
        whole = whole[size:]
    return tuple(pieces)
