"""Logs on disk, the reading half: blocking, from any process, beside a writer that goes on.

A reader's place is a file's number and an offset. It takes whole lines only, and moves to the next file
when there is one and its own has ended; so nothing is lost or given twice over rotation and restarts.
A reader slower than two rotations misses what was dropped meanwhile: logs are bounded.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from forge.embedded.process import logs

POLL_S = 0.05
_CHUNK = 256 * 1024
_STREAMS = {logs.STDOUT: "stdout", logs.STDERR: "stderr"}


class Cancel(Protocol):
    """Set once when the reader is to stop. threading.Event has this shape."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class Line:
    """at: Unix seconds. stream: `stdout` or `stderr`. run: the number of the start it belongs to."""

    at: float
    run: int
    stream: str
    text: str


def read(
    folder: Path, *, tail: int | None = None, since: float | None = None, run: int | None = None
) -> Iterator[Line]:
    """The lines kept at this moment, oldest first. tail: the last n at most. run: of that start alone,
    as `logs --previous` wants it. None without such a folder."""
    with Reader(folder, tail if run is None else None, _end(folder)) as reader:
        lines = _wanted(reader.available(), since, run)
        yield from lines if tail is None else deque(lines, tail)


def follow(
    folder: Path, cancel: Cancel | None, *, tail: int | None = None, since: float | None = None
) -> Iterator[Line]:
    """The lines kept and all that come, until cancel is set or the folder is gone."""
    with Reader(folder, tail) as reader:
        while True:
            # looked at first, so that what was written before it came true is still read
            over = not folder.is_dir() or (cancel is not None and cancel.is_set())
            yield from _wanted(reader.available(), since, None)
            if over:
                return
            if cancel is None:
                time.sleep(POLL_S)
            else:
                cancel.wait(POLL_S)


def _end(folder: Path) -> tuple[int, int]:
    """The place after the last byte written so far, so that reading catches up with the fastest writer."""
    for number in reversed(_numbers(folder)):
        try:
            return number, logs.path(folder, number).stat().st_size
        except FileNotFoundError:
            continue
    return 0, 0


def _wanted(lines: Iterator[Line], since: float | None, run: int | None) -> Iterator[Line]:
    for line in lines:
        if (since is None or line.at >= since) and run in (None, line.run):
            yield line


def parse(raw: bytes) -> Line | None:
    """One line of the file; None for anything that was not written by a LogWriter."""
    words = raw.split(b" ", 3)
    if len(words) != 4 or words[2] not in _STREAMS:
        return None
    try:
        at, run = float(words[0]), int(words[1])
    except ValueError:
        return None
    return Line(at, run, _STREAMS[words[2]], words[3].decode("utf-8", "replace"))


class Reader:
    """Where one reader stands. The open file keeps its lines readable after it was dropped. end: the
    place (number, offset) beyond which it does not read; None: as far as it goes."""

    def __init__(self, folder: Path, tail: int | None, end: tuple[int, int] | None = None) -> None:
        self._folder = folder
        self._end = end
        self._file: BinaryIO | None = None
        self._number = 0
        self._rest = b""
        if tail is not None:
            self._seek_tail(tail)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def available(self) -> Iterator[Line]:
        """Whole lines from here to the end of the last file."""
        while True:
            later = self._later()
            yield from self._lines()
            if not later or not self._move(later):
                return

    def _lines(self) -> Iterator[Line]:
        while self._file is not None and (chunk := self._file.read(self._room())):
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            yield from (line for raw in whole if (line := parse(raw)) is not None)

    def _room(self) -> int:
        if self._file is None or self._end is None or self._number < self._end[0]:
            return _CHUNK
        return max(0, min(_CHUNK, self._end[1] - self._file.tell()))

    def _later(self) -> list[int]:
        """Files after this one. Asked before reading: if there is one now, this one is complete."""
        last = self._end[0] if self._end is not None else math.inf
        return [n for n in _numbers(self._folder) if self._number < n <= last]

    def _move(self, later: list[int]) -> bool:
        for number in later:
            try:
                opened = logs.path(self._folder, number).open("rb", buffering=0)
            except FileNotFoundError:  # dropped in between
                continue
            if self._file is not None:
                self._file.close()
            self._file, self._number, self._rest = opened, number, b""
            return True
        return False

    def _seek_tail(self, tail: int) -> None:
        """Stands before the last *tail* lines, which may begin in an earlier file."""
        left = tail
        for number in reversed(_numbers(self._folder)):
            try:
                data = logs.path(self._folder, number).read_bytes()
            except FileNotFoundError:
                return
            ends = data.count(b"\n")
            self._number = number - 1
            if self._move([number]) and self._file is not None and ends >= left:
                self._file.seek(_nth_last(data, left))
                return
            left -= ends


def _nth_last(data: bytes, lines: int) -> int:
    """The offset at which the last *lines* whole lines of data begin."""
    end = data.rfind(b"\n") + 1
    for _ in range(lines):
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end


def _numbers(folder: Path) -> list[int]:
    try:
        return logs.numbers(folder)
    except FileNotFoundError:
        return []
