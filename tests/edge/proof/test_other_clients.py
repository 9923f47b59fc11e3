"""Programs people have at hand work through the gateway: curl in its versions, ab with and without
keep-alive."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kit import simulators
from tests.kit.edges import Edge, edge

TEXT = """
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: router, routes: [{{path_prefix: /, cluster: sim}}]}}
      - filter: load_balancer
clusters:
  - {{name: sim, endpoints: ["127.0.0.1:{port}"]}}
"""
ASK = '{"model": "shared-model", "messages": [{"role": "user", "content": "one two"}], "stream": %s}'


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Edge]:
    async with simulators.running() as sim, edge(tmp_path, TEXT.format(port=sim.port)) as running:
        yield running


async def run(*argv: str) -> str:
    """Its output; its program must be there and succeed."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not on this machine")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="as it is"),
        pytest.param(["--http1.0"], id="HTTP/1.0"),
        pytest.param(["-H", "Expect: 100-continue"], id="asking before it sends"),
        pytest.param(["-H", "Transfer-Encoding: chunked"], id="a chunked body"),
        pytest.param(["-H", "Connection: close"], id="closing"),
    ],
)
async def test_curl(made: Edge, options: list[str]) -> None:
    url = f"{made.url()}/v1/chat/completions"
    whole = await run("curl", "-sS", "--fail", *options, "-d", ASK % "false", url)
    assert '"content":"one two"' in whole
    stream = await run("curl", "-sSN", "--fail", *options, "-d", ASK % "true", url)
    assert stream.count("data: ") > 2
    assert stream.endswith("data: [DONE]\n\n")


async def test_curl_asks_for_a_head(made: Edge) -> None:
    assert "200 OK" in await run("curl", "-sSI", f"{made.url()}/health")


@pytest.mark.parametrize("options", [[], ["-k"]], ids=["a connection each", "keep-alive"])
async def test_ab(made: Edge, tmp_path: Path, options: list[str]) -> None:
    body = tmp_path / "body.json"
    body.write_text(ASK % "false")
    url = f"{made.url()}/v1/chat/completions"
    output = await run(
        "ab", "-q", "-l", "-n", "60", "-c", "6", *options, "-p", str(body), "-T", "application/json", url
    )
    assert "Complete requests:      60" in output
    assert "Failed requests:        0" in output
    assert "Non-2xx" not in output
