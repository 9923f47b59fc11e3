"""Ctrl-C, SIGTERM and a terminal that is closed: the first stops cleanly, the second at once.

first    nothing new is begun, what runs is let finish or is cut short, the state is saved
second   this process's children are killed and it exits; the next run repairs what is left
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop(threading.Event):
    """A cancel that remembers which signal set it; 0 while none did."""

    signal_number: int = 0


@contextmanager
def stopping(note: Callable[[str], None]) -> Iterator[Stop]:
    """A Stop that the signals set while the block runs. Main thread only.

    note runs inside the handler, so in the middle of any line of the main thread: it may take no lock.
    """
    stop = Stop()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            _kill_children()
            os._exit(128 + number)
        stop.signal_number = number
        stop.set()
        note("stopping: what runs is finished and the state saved; once more to kill")

    heard = [n for n in SIGNALS if n is not signal.SIGHUP or signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}  # under nohup, it stays ignored
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill_children() -> None:
    """Kills what this process started: a child is listed with the thread that started it, and one
    that leads a process group (a health check's command) takes its own children along."""
    for pid in _children():
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    found: list[int] = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that ended meanwhile
            found += [int(pid) for pid in listing.read_text(encoding="ascii").split()]
    return found
