"""Clients people use get what they ask for: curl, ab, httpx."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.kit.backends import Backend, Received, Wire, backend, echo
from tests.kit.certs import Authority, client_context, server_context
from tests.kit.eventually import eventually
from tests.kit.gateways import Gateway, cluster, gateway


@pytest.fixture
async def upstream() -> AsyncIterator[Backend]:
    async with backend(_echo_or_stream) as made:
        yield made


@pytest.fixture
async def edge(upstream: Backend) -> AsyncIterator[Gateway]:
    async with gateway(cluster(upstream.port)) as made:
        yield made


async def _echo_or_stream(request: Received, wire: Wire) -> None:
    if not request.line.startswith(b"POST /stream"):
        await echo(request, wire)
        return
    await wire.send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    for n in range(10):
        event = b"data: %d\n\n" % n
        await wire.send(b"%x\r\n%b\r\n" % (len(event), event))
    await wire.send(b"0\r\n\r\n")


async def _run(*argv: str) -> tuple[int, bytes]:
    program = shutil.which(argv[0])
    if program is None:
        pytest.skip(f"{argv[0]} is not installed")
    process = await asyncio.create_subprocess_exec(
        program, *argv[1:], stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    return process.returncode or 0, out


CURL = ("curl", "--silent", "--show-error", "--fail", "--max-time", "30")


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("--data-binary", "@{file}"), id="a body, asked for by 100-continue"),
        pytest.param(("--data-binary", "@{file}", "-H", "Transfer-Encoding: chunked"), id="chunked"),
        pytest.param(("--data-binary", "@{file}", "--http1.0"), id="HTTP/1.0"),
        pytest.param(("--data-binary", "@{file}", "-H", "Expect:"), id="without asking"),
        pytest.param(("--upload-file", "{file}"), id="PUT"),
    ],
)
async def test_curl_sends_a_large_body(flags: tuple[str, ...], edge: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)) * 8_000)
    url = f"http://127.0.0.1:{edge.port}/echo"
    code, out = await _run(*CURL, *(flag.format(file=file) for flag in flags), url)
    assert code == 0
    assert out == file.read_bytes()


async def test_curl_reuses_its_connection_for_several_urls(edge: Gateway) -> None:
    urls = [f"http://127.0.0.1:{edge.port}/{n}" for n in range(4)]
    code, out = await _run(*CURL, "--write-out", "%{num_connects}", "--data", "x", *urls)
    assert (code, out) == (0, b"x1x0x0x0")


async def test_curl_heads(edge: Gateway) -> None:
    code, out = await _run(*CURL, "--head", f"http://127.0.0.1:{edge.port}/")
    assert code == 0
    assert out.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_curl_over_tls_sees_a_verified_http_1_1(upstream: Backend, tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    context = server_context(ca.leaf("localhost"))
    context.set_alpn_protocols(["http/1.1"])
    async with gateway(cluster(upstream.port), tls=context) as edge:
        url = f"https://localhost:{edge.port}/"
        resolve = f"localhost:{edge.port}:127.0.0.1"
        code, out = await _run(
            *CURL,
            "--cacert",
            str(ca.path),
            "--resolve",
            resolve,
            "--data",
            "x",
            "--write-out",
            "%{http_version}",
            url,
        )
    assert (code, out) == (0, b"x1.1")


async def test_ab_keeps_http_1_0_connections(edge: Gateway) -> None:
    code, out = await _run("ab", "-k", "-n", "200", "-c", "8", f"http://127.0.0.1:{edge.port}/")
    assert code == 0
    assert b"Complete requests:      200" in out
    assert b"Failed requests:        0" in out
    assert b"Keep-Alive requests:    200" in out


async def test_httpx_streams_and_many_at_once(edge: Gateway) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{edge.port}", timeout=30) as http:
        answers = await asyncio.gather(*(http.post(f"/{n}", content=b"%d" % n) for n in range(40)))
        assert [answer.content for answer in answers] == [b"%d" % n for n in range(40)]
        async with http.stream("POST", "/stream", content=b"{}") as stream:
            assert [line async for line in stream.aiter_lines() if line] == [f"data: {n}" for n in range(10)]

        async def pieces() -> AsyncIterator[bytes]:
            for n in range(100):
                yield b"%d," % n

        uploaded = await http.post("/chunked", content=pieces())
        assert uploaded.content == b"".join([b"%d," % n for n in range(100)])


async def test_httpx_leaving_a_stream_ends_it_upstream() -> None:
    async def endless(_: Received, wire: Wire) -> None:
        await wire.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        while True:
            await wire.send(b"9\r\ndata: 1\n\n\r\n")
            await asyncio.sleep(0.01)

    async with (
        backend(endless) as upstream,
        gateway(cluster(upstream.port)) as edge,
        httpx.AsyncClient(timeout=30) as http,
    ):
        async with http.stream("POST", f"http://127.0.0.1:{edge.port}/", content=b"{}") as stream:
            async for _ in stream.aiter_lines():
                break
        await eventually(lambda: upstream.open == 0, "the upstream connection ended")


async def test_httpx_over_mutual_tls(upstream: Backend, tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    server = server_context(ca.leaf("localhost"), clients=ca)
    mine = client_context(ca, ca.leaf("client"))
    async with (
        gateway(cluster(upstream.port), tls=server) as edge,
        httpx.AsyncClient(verify=mine, timeout=30) as http,
    ):
        answer = await http.post(f"https://localhost:{edge.port}/", content=b"x" * 200_000)
    assert answer.content == b"x" * 200_000
