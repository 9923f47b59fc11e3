"""Takes what the access log has to say on the request path, and makes lines of it and writes them in batches
off it.

What is taken is a row of values; lines are made of sixty-four rows at a time, which costs less than one by
one between two requests, where each finds the cache cold. They wait in memory for at most a fifth of a
second; a thread writes them, so that a slow reader of the log slows nobody down. When the reader is slower
than the traffic for long, lines are dropped and counted, not piled up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from grid.telemetry.metrics import Counter

log = logging.getLogger(__name__)

_EVERY_S = 0.2
_AT_ONCE = 64  # rows; each keeps a request's values in memory, and a whole batch should stay in the cache
_MOST_BYTES = 8 * 1024 * 1024

Row = tuple[Any, ...]
"""First, the Lines that makes a line of it."""

Access = Callable[[Row], None]


class Lines(Protocol):
    """What rows become lines by."""

    def line(self, row: Row, /) -> str:
        """The line of *row*, with its end."""


def line(row: Row) -> bytes:
    """The line of *row*, as it is written."""
    by: Lines = row[0]
    return by.line(row).encode()


class Sink:
    """dropped: counts lines there was no room for."""

    def __init__(self, output: BinaryIO, dropped: Counter) -> None:
        self._output = output
        self._dropped = dropped
        self._rows: list[Row] = []
        self._waiting = bytearray()  # one place for all lines: kept apart, each would be memory of its own

    def take(self, row: Row) -> None:
        """A line is to be made of *row*, soon."""
        rows = self._rows
        rows.append(row)
        if len(rows) >= _AT_ONCE:
            self._make_lines()

    async def run(self) -> None:
        """Writes until cancelled; then `flush` writes what is left."""
        while True:
            await asyncio.sleep(_EVERY_S)
            if self._rows or self._waiting:
                await asyncio.to_thread(self._write, self._take_all())

    def flush(self) -> None:
        self._write(self._take_all())

    def _make_lines(self) -> None:
        rows, self._rows = self._rows, []
        for row in rows:
            if len(self._waiting) >= _MOST_BYTES:
                self._dropped.add()
                continue
            try:
                by: Lines = row[0]
                self._waiting += by.line(row).encode()
            except Exception:  # the other lines are due whatever is wrong with one
                log.exception("a line of the access log could not be made")

    def _take_all(self) -> bytearray:
        self._make_lines()
        whole, self._waiting = self._waiting, bytearray()
        return whole

    def _write(self, whole: bytearray) -> None:
        """An output that is gone must not end the gateway."""
        with contextlib.suppress(OSError, ValueError):
            self._output.write(whole)
            self._output.flush()
