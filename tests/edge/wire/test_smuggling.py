"""Every request of the corpus gets the one answer allowed, whole or byte by byte, and nothing else gets
through."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.edge.wire.smuggling import CORPUS, Row
from tests.kit.backends import Backend, backend, echo
from tests.kit.gateways import Gateway, cluster, gateway
from tests.kit.raw_http import Closed, RawClient, client

ROWS = [pytest.param(row, id=row.name) for row in CORPUS]


@pytest.fixture
async def upstream() -> AsyncIterator[Backend]:
    async with backend(echo) as made:
        yield made


@pytest.fixture
async def edge(upstream: Backend) -> AsyncIterator[Gateway]:
    async with gateway(cluster(upstream.port)) as made:
        yield made


def test_the_corpus_is_large_and_names_are_unique() -> None:
    assert len(CORPUS) >= 150
    assert len({row.name for row in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("row", ROWS)
async def test_whole(row: Row, edge: Gateway, upstream: Backend) -> None:
    async with client(edge.port) as raw:
        await raw.send(row.raw)
        await _check(row, raw, upstream)


@pytest.mark.parametrize(
    "row", [param for param, row in zip(ROWS, CORPUS, strict=True) if len(row.raw) < 2_000]
)
async def test_byte_by_byte(row: Row, edge: Gateway, upstream: Backend) -> None:
    async with client(edge.port) as raw:
        for at in range(len(row.raw)):
            await raw.send(row.raw[at : at + 1])
        await _check(row, raw, upstream)


async def _check(row: Row, raw: RawClient, upstream: Backend) -> None:
    method = row.raw.lstrip().partition(b" ")[0]
    assert (await raw.reply(method)).status == row.status
    if row.status >= 400:
        assert await raw.rest() == b""
    raw.half_close()
    answers = 1
    while True:
        try:
            await raw.reply()
            answers += 1
        except Closed:
            break
    assert len(upstream.received) == row.served, [request.head for request in upstream.received]
    for request in upstream.received:
        lengths = [line for line in request.head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        assert len(lengths) <= 1
        assert b"transfer-encoding" not in request.fields
