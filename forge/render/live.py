"""The live block of a run on a terminal: one line a resource, what it is at and since when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from rich.text import Text

from forge.plan.run import Event, Happening
from forge.plan.values import Key
from forge.render.run import doing
from forge.render.style import seconds

_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ENDED: Final = {
    Happening.DONE: ("✓", "green"),
    Happening.FAILED: ("✗", "red"),
    Happening.SKIPPED: ("!", "yellow"),
    Happening.STOPPED: ("!", "yellow"),
}
ROWS: Final = 30
"""Lines at most: more than a screen would scroll and flicker."""


@dataclass(slots=True)
class _Row:
    event: Event
    started: float
    ended: float | None = None


class Board:
    """Takes events and shows where every step stands, from any thread. now: seconds, monotonic; the
    clock of a picture that is drawn ten times a second."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._rows: dict[Key, _Row] = {}
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        with self._lock:
            row = self._rows.setdefault(event.key, _Row(event, self._now()))
            row.event = event
            if event.happening in _ENDED:
                row.ended = self._now()

    def text(self) -> Text:
        """The block as it stands now: what is still going on first, if it does not all fit."""
        with self._lock:
            rows = [(key, replace(row)) for key, row in self._rows.items()]
        hidden = 0
        if len(rows) > ROWS:
            rows.sort(key=lambda item: item[1].ended is not None)
            hidden, rows = len(rows) - ROWS, rows[:ROWS]
        width = max((len(str(key)) for key, _ in rows), default=0)
        block = Text("\n").join(self._line(key, row, width) for key, row in rows)
        return Text.assemble(block, (f"\n  ... and {hidden} more", "dim")) if hidden else block

    def _line(self, key: Key, row: _Row, width: int) -> Text:
        until = self._now() if row.ended is None else row.ended
        mark, colour = _ENDED.get(row.event.happening, (self._spinner(), "cyan"))
        return Text.assemble(
            (f"{mark} ", colour),
            f"{key!s:<{width}}  ",
            (f"{seconds(until - row.started):>9}  ", "dim"),
            (doing(row.event), colour if row.ended is not None else ""),
        )

    def _spinner(self) -> str:
        return _SPINNER[int(self._now() * 10) % len(_SPINNER)]
