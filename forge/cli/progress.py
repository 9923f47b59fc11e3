"""Shows a run as it goes: a live block of lines on a terminal, one line a transition elsewhere."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from forge.cli.console import Console, clock
from forge.plan.run import Event

if TYPE_CHECKING:
    from rich.live import Live

    from forge.render.live import Board


class Progress:
    """Takes the events of a run. The block opens with the first event and stays when closed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._opening = threading.Lock()
        self._board: Board | None = None
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        if self._console.is_live:
            self._opened().take(event)
            return
        from forge.render.run import event_line

        self._console.progress(event_line(event, clock(), self._console.err))

    def close(self) -> None:
        """Draws the last state and lets the terminal go."""
        if self._live is not None:
            with suppress(OSError):  # the terminal was closed
                self._live.stop()
            self._live = None

    def _opened(self) -> Board:
        with self._opening:
            if self._board is None:
                from rich.console import Console as RichConsole
                from rich.live import Live

                from forge.render.live import Board

                self._board = Board()
                self._live = Live(
                    console=RichConsole(stderr=True), get_renderable=self._board.text, refresh_per_second=10
                )
                self._live.start()
            return self._board
