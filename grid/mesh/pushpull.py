"""Push/pull over TCP: what fits no datagram, sealed the same way.

    frame   bytes (4) | sealed frame        each side sends one, the one who connects first

One frame a side and a connection, bounded in bytes and time, so that a stranger holds one of a few places and
a megabyte for some seconds, and no more. What does not open is dropped and counted, and the connection ends
unanswered.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import Callable
from typing import Final

from grid.mesh.addresses import Place
from grid.seal.aead import OVERHEAD
from grid.swim.tuning import MAX_EXCHANGE, MAX_OFFER

MAX_ASKED: Final = MAX_OFFER + OVERHEAD
MAX_FRAME: Final = MAX_EXCHANGE + OVERHEAD
WITHIN_S: Final = 10.0
"""For one side of it all; eight megabytes at 10 Mbit/s."""
MAX_SERVED: Final = 16
"""Connections served at a time; the table of members has room for a thousand, who exchange seldom."""

_SIZE = struct.Struct(">I")

Answer = Callable[[bytes], bytes | None]
"""A sealed frame that came to the one that goes back; None where it is dropped."""


class FrameRefused(Exception):
    """The peer announced more than a frame may hold. Nothing was read of it."""


async def ask(place: Place, frame: bytes) -> bytes:
    """Send a sealed frame, and give the sealed frame that comes back.

    Raises OSError, TimeoutError, EOFError or FrameRefused when there is none. Binds no source address.
    """
    async with asyncio.timeout(WITHIN_S):
        reader, writer = await asyncio.open_connection(*place)
        try:
            await _write(writer, frame)
            return await _read(reader, MAX_FRAME)
        finally:
            writer.close()


class Served:
    """Answers who connects. answer: raises nothing for any bytes. counts: what was refused."""

    def __init__(self, answer: Answer, counts: Counter[str]) -> None:
        self._answer = answer
        self._counts = counts
        self._places = MAX_SERVED

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end; given to asyncio.start_server."""
        if not self._places:
            self._counts["exchange_no_place"] += 1
            writer.close()
            return
        self._places -= 1
        try:
            async with asyncio.timeout(WITHIN_S):
                answer = self._answer(await _read(reader, MAX_ASKED))
                if answer is not None:
                    await _write(writer, answer)
        except (OSError, TimeoutError, EOFError, FrameRefused):
            self._counts["exchange_broken"] += 1
        finally:
            self._places += 1
            writer.close()


async def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(_SIZE.pack(len(frame)))
    writer.write(frame)
    await writer.drain()


async def _read(reader: asyncio.StreamReader, limit: int) -> bytes:
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    if size > limit:
        raise FrameRefused
    return await reader.readexactly(size)
