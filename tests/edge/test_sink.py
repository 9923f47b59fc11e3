"""Lines are written in order, in batches, and dropped by count rather than piled up."""

from __future__ import annotations

import asyncio
import io

from edge.sink import Sink
from grid.telemetry.metrics import Counter
from tests.kit.eventually import eventually


async def test_lines_are_written_in_order() -> None:
    output = io.BytesIO()
    made = Sink(output, Counter("dropped_total", ""))
    running = asyncio.ensure_future(made.run())
    for n in range(100):
        made(b"%d\n" % n)
    await eventually(lambda: output.getvalue().count(b"\n") == 100, "written")
    running.cancel()
    await asyncio.wait([running])
    made(b"last\n")
    made.flush()
    assert output.getvalue().split() == [b"%d" % n for n in range(100)] + [b"last"]


def test_what_there_is_no_room_for_is_counted() -> None:
    dropped = Counter("dropped_total", "")
    made = Sink(io.BytesIO(), dropped)
    line = b"x" * (1 << 20)
    for _ in range(10):
        made(line)
    assert dropped.value() == 2
    made.flush()
    made(line)
    assert dropped.value() == 2


def test_an_output_that_is_gone_ends_nothing() -> None:
    closed = io.BytesIO()
    made = Sink(closed, Counter("dropped_total", ""))
    made(b"x\n")
    closed.close()
    made.flush()
