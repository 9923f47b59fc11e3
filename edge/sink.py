"""Takes access log lines on the request path and writes them in batches off it.

Lines wait in memory for at most a fifth of a second; a thread writes them, so that a slow reader of the log
slows nobody down. When the reader is slower than the traffic for long, lines are dropped and counted, not
piled up.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import BinaryIO

from grid.telemetry.metrics import Counter

_EVERY_S = 0.2
_MOST_BYTES = 8 * 1024 * 1024


class Sink:
    """dropped: counts lines there was no room for."""

    def __init__(self, output: BinaryIO, dropped: Counter) -> None:
        self._output = output
        self._dropped = dropped
        self._waiting = bytearray()  # one place for all lines: kept apart, each would be memory of its own

    def __call__(self, line: bytes) -> None:
        if len(self._waiting) >= _MOST_BYTES:
            self._dropped.add()
            return
        self._waiting += line

    async def run(self) -> None:
        """Writes until cancelled; then `flush` writes what is left."""
        while True:
            await asyncio.sleep(_EVERY_S)
            if self._waiting:
                await asyncio.to_thread(self._write, self._take())

    def flush(self) -> None:
        self._write(self._take())

    def _take(self) -> bytearray:
        whole, self._waiting = self._waiting, bytearray()
        return whole

    def _write(self, whole: bytearray) -> None:
        """An output that is gone must not end the gateway."""
        with contextlib.suppress(OSError, ValueError):
            self._output.write(whole)
            self._output.flush()
