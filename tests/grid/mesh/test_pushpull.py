"""A frame a side over TCP, bounded in bytes, time and places."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from grid.mesh.addresses import Place
from grid.mesh.pushpull import MAX_ASKED, MAX_SERVED, FrameRefused, Served, ask
from tests.kit.eventually import eventually
from tests.kit.meshes import hung_up


def shout(frame: bytes) -> bytes | None:
    """Eight times as long as what was asked."""
    return frame.upper() * 8 or None


@asynccontextmanager
async def serving(counts: Counter[str]) -> AsyncIterator[Place]:
    server = await asyncio.start_server(Served(shout, counts).serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[:2]


async def test_a_frame_goes_and_a_frame_comes() -> None:
    async with serving(Counter()) as place:
        assert await ask(place, b"a" * 900_000) == b"A" * 7_200_000


async def test_who_is_not_answered_is_told_by_the_end() -> None:
    async with serving(Counter()) as place:
        with pytest.raises(EOFError):
            await ask(place, b"")


async def test_a_frame_over_the_bound_is_refused_unread() -> None:
    counts: Counter[str] = Counter()
    async with serving(counts) as place:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(struct.pack(">I", MAX_ASKED + 1))
        assert await reader.read() == b""
        await hung_up(writer)
    assert counts == {"exchange_broken": 1}


async def test_an_answer_over_the_bound_is_refused() -> None:
    async def boast(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\xff\xff\xff\xff")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(boast, "127.0.0.1", 0) as server:
        with pytest.raises(FrameRefused):
            await ask(server.sockets[0].getsockname()[:2], b"x")


async def test_strangers_hold_only_so_many_places() -> None:
    counts: Counter[str] = Counter()
    async with serving(counts) as place:
        idle = [await asyncio.open_connection(*place) for _ in range(MAX_SERVED + 3)]
        await eventually(lambda: counts["exchange_no_place"] == 3, "three are turned away")
        for _, writer in idle:
            await hung_up(writer)
        await eventually(lambda: counts["exchange_broken"] == MAX_SERVED, "the places are free again")
        assert await ask(place, b"a") == b"A" * 8
