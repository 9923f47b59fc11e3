"""Tokens are counted as the end of an answer says, and not guessed."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.usage import Tokens, tokens
from tests.kit import backends
from tests.kit.backends import Received, Wire
from tests.kit.edges import edge
from tests.kit.eventually import eventually

USAGE = b'"usage":{"prompt_tokens":7,"total_tokens":12,"completion_tokens":5}'
EVENTS = (
    b'data: {"choices":[{"delta":{"content":"a"}}],"usage":null}\n\n',
    b'data: {"choices":[],' + USAGE + b"}\n\n",
    b"data: [DONE]\n\n",
)
TEXT = """
listeners: [{{name: main, address: "127.0.0.1:0", filter_chains: [main]}}]
filter_chains:
  - name: main
    filters:
      - filter: access_log
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: router, routes: [{{path_prefix: /, cluster: east}}]}}
      - filter: load_balancer
clusters: [{{name: east, endpoints: ["127.0.0.1:{port}"]}}]
insecure_options: {{allow_root: true}}
"""


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        pytest.param(b"{" + USAGE + b"}", Tokens(7, 5), id="a plain answer"),
        pytest.param(b"".join(EVENTS), Tokens(7, 5), id="the last events of a stream"),
        pytest.param(b'{"usage" : {"prompt_tokens": 3}}', Tokens(3, 0), id="embeddings"),
        pytest.param(
            b'{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}}',
            Tokens(1, 2),
            id="details",
        ),
        pytest.param(EVENTS[0] + EVENTS[2], None, id="not asked for"),
        pytest.param(b'{"usage":{"prompt_tokens":-1}}', None, id="no number"),
        pytest.param(USAGE[8:], None, id="its beginning is cut off"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_ends_of_answers(tail: bytes, expected: Tokens | None) -> None:
    assert tokens(tail) == expected


@given(st.binary(max_size=200))
def test_any_bytes_say_something_or_nothing(tail: bytes) -> None:
    tokens(tail)
    tokens(b'"usage"' + tail)


async def _stream(_: Received, wire: Wire) -> None:
    """Each event in a chunk and a write of its own, the first after the head."""
    await wire.send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    for event in EVENTS:
        await wire.send(b"%x\r\n%b\r\n" % (len(event), event))
    await wire.send(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "is_stream"),
    [
        pytest.param(_stream, True, id="a stream"),
        pytest.param(
            backends.always(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n{%b}" % (len(USAGE) + 2, USAGE)),
            False,
            id="a plain answer",
        ),
    ],
)
async def test_through_the_gateway(tmp_path: Path, answer: backends.Answer, is_stream: bool) -> None:
    async with (
        backends.backend(answer) as backend,
        edge(tmp_path, TEXT.format(port=backend.port)) as made,
        httpx.AsyncClient(timeout=30) as client,
    ):
        for _ in range(2):
            await client.post(f"{made.url()}/v1", json={"model": "m"})
        await eventually(lambda: len(made.lines) == 2, "logged")
        metrics = made.outside.metrics
        assert metrics.tokens.value("east", "prompt") == 14
        assert metrics.tokens.value("east", "completion") == 10
        text = metrics.metrics.scrape().decode()
    line = json.loads(made.lines[0])
    assert (line["tokens_in"], line["tokens_out"]) == (7, 5)
    assert ("first_token_ms" in line) is is_stream
    assert 'praxis_upstream_connect_seconds_count{cluster="east"} 1.0' in text
    assert (f'praxis_first_token_seconds_count{{cluster="east"}} {2.0 * is_stream}') in text
    assert 'praxis_stream_duration_seconds_count{cluster="east"} 2.0' in text
