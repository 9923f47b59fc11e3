"""Lines are written in order, in batches, and dropped by count rather than piled up."""

from __future__ import annotations

import asyncio
import io

import pytest

from edge.sink import Row, Sink
from grid.telemetry.metrics import Counter
from tests.kit.eventually import eventually


class Said:
    """A line that was made before."""

    def line(self, row: Row) -> str:
        text: str = row[1]
        return text


def row(text: str) -> Row:
    return Said(), text


async def test_lines_are_written_in_order() -> None:
    output = io.BytesIO()
    made = Sink(output, Counter("dropped_total", ""))
    running = asyncio.ensure_future(made.run())
    for n in range(100):
        made.take(row(f"{n}\n"))
    await eventually(lambda: output.getvalue().count(b"\n") == 100, "written")
    running.cancel()
    await asyncio.wait([running])
    made.take(row("last\n"))
    made.flush()
    assert output.getvalue().split() == [b"%d" % n for n in range(100)] + [b"last"]


def test_what_there_is_no_room_for_is_counted() -> None:
    dropped = Counter("dropped_total", "")
    made = Sink(io.BytesIO(), dropped)
    large = row("x" * (1 << 20))
    for _ in range(64):  # as many as are made into lines at once
        made.take(large)
    assert dropped.value() == 64 - 8
    made.flush()
    made.take(large)
    made.flush()
    assert dropped.value() == 64 - 8


def test_a_line_that_cannot_be_made_costs_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    output = io.BytesIO()
    made = Sink(output, Counter("dropped_total", ""))
    for each in (row("first\n"), (Said(),), row("last\n")):
        made.take(each)
    made.flush()
    assert output.getvalue() == b"first\nlast\n"
    assert "could not be made" in caplog.text


def test_an_output_that_is_gone_ends_nothing() -> None:
    closed = io.BytesIO()
    made = Sink(closed, Counter("dropped_total", ""))
    made.take(row("x\n"))
    closed.close()
    made.flush()
