"""What a server may answer beside what it should: each is a fault, and never anything else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import yaml

from grid.kube.client import Client, connect
from grid.kube.port import CONFIG_MAP, Change, KubeFault


@contextlib.asynccontextmanager
async def answering(folder: Path, *answers: bytes) -> AsyncIterator[tuple[Client, list[str]]]:
    """A client of a server that gives these answers, one a request, and what it was asked."""
    asked: list[str] = []
    left = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            asked.append(head.split(b"\r\n", 1)[0].decode())
            writer.write(left.pop(0))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "here", "user": {"token": "t"}}],
    }
    file = folder / "config"
    file.write_text(yaml.safe_dump(config))
    client = await connect("here", str(file))
    try:
        async with server:
            yield client, asked
    finally:
        await client.close()


def said(status: str, body: bytes = b"{}", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def streamed(*lines: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"".join(lines)


@pytest.mark.parametrize(
    ("answer", "status", "reason", "retry_after_s"),
    [
        pytest.param(said("200 OK", b"{"), 0, "DecodeError", None, id="cut short"),
        pytest.param(b"rubbish\r\n\r\n", 0, None, None, id="no HTTP"),
        pytest.param(said("500 Oops", b"<html>"), 500, "Oops", None, id="an error that is no Status"),
        pytest.param(said("500 Oops", b"[]"), 500, "Oops", None, id="an error that is a list"),
        pytest.param(said("409 Conflict", b'{"reason": "Conflict"}'), 409, "Conflict", None, id="a Status"),
        pytest.param(
            said("429 Too Many Requests", b"{}", "Retry-After: 7"),
            429,
            "Too Many Requests",
            7.0,
            id="asked to wait",
        ),
        pytest.param(
            said("503 X", b"{}", "Retry-After: Mon"), 503, "X", None, id="asked to wait until some day"
        ),
    ],
)
async def test_odd_answers(
    tmp_path: Path, answer: bytes, status: int, reason: str | None, retry_after_s: float | None
) -> None:
    async with answering(tmp_path, answer) as (client, _):
        with pytest.raises(KubeFault) as fault:
            await client.get(CONFIG_MAP, "a", "ns")
    assert fault.value.status == status
    assert reason in {None, fault.value.reason}
    assert fault.value.retry_after_s == retry_after_s


async def test_a_long_list_is_read_page_by_page(tmp_path: Path) -> None:
    pages = (
        b'{"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "more", "resourceVersion": "7"}}',
        b'{"items": [{"metadata": {"name": "b"}}], "metadata": {"resourceVersion": "7"}}',
    )
    async with answering(tmp_path, *(said("200 OK", page) for page in pages)) as (client, asked):
        found = await client.list(CONFIG_MAP, "ns")
    assert [item["metadata"]["name"] for item in found.items] == ["a", "b"]
    assert found.resource_version == "7"
    assert "continue=more" in asked[1]


async def test_a_deletion_that_is_refused_is_a_fault(tmp_path: Path) -> None:
    async with answering(tmp_path, said("403 Forbidden")) as (client, _):
        with pytest.raises(KubeFault, match="403 Forbidden"):
            await client.delete(CONFIG_MAP, "a", "ns")


async def changes(client: Client) -> Sequence[Change]:
    return [change async for change in client.watch(CONFIG_MAP, "1", "ns")]


async def test_events_may_come_in_any_pieces(tmp_path: Path) -> None:
    lines = b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": "2"}}}\n\n{"type": "BOOKMARK", "object": {}}\n'
    async with answering(tmp_path, streamed(lines)) as (client, _):
        found = await changes(client)
    assert [(change.verb, change.resource_version) for change in found] == [("ADDED", "2"), ("BOOKMARK", "")]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        pytest.param(b"{\n", 0, id="no JSON"),
        pytest.param(b"[]\n", 0, id="no event"),
        pytest.param(b'{"type": "ADDED"}\n', 0, id="an event without an object"),
        pytest.param(b'{"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}\n', 410, id="too old"),
        pytest.param(b'{"type": "ERROR", "object": {}}\n', 0, id="an error that says nothing"),
        pytest.param(b"x" * (5 * 1024 * 1024), 0, id="a line without end"),
    ],
)
async def test_odd_events_end_a_watch(tmp_path: Path, line: bytes, status: int) -> None:
    async with answering(tmp_path, streamed(line)) as (client, _):
        with pytest.raises(KubeFault) as fault:
            await changes(client)
    assert fault.value.status == status
