"""Logs on disk, the writing half: a line a line, stamped, by stream and run, in files of bounded size.

    1790000000.123456 3 o listening on 127.40.1.1:8080
    when, Unix seconds  run  stdout or stderr  text

Files are numbered, and a number is never used again: 00000007.log is followed by 00000008.log, and the
last two are kept. So a reader (follow.py) that stands anywhere in one knows what comes next, whatever
rotates meanwhile. A file that has a successor is never written again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from forge.embedded.process.spec import LogBounds

STDOUT = b"o"
STDERR = b"e"

KEPT_FILES = 2


def numbers(folder: Path) -> list[int]:
    """The numbers of the log files there, ascending. Raises FileNotFoundError without the folder."""
    return sorted(
        int(file.stem) for file in folder.iterdir() if file.suffix == ".log" and file.stem.isdigit()
    )


def path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.log"


class LogWriter:
    """Appends what processes say; always begins a new file, since an older one may end in mid-line."""

    def __init__(self, folder: Path, bounds: LogBounds) -> None:
        self._folder = folder
        self._bounds = bounds
        self._rest = {STDOUT: b"", STDERR: b""}
        self._lost = 0
        self._size = 0
        self._number = max(numbers(folder), default=0) + 1
        self._fd = self._open()
        self._drop_old()

    def write(self, run: int, stream: bytes, data: bytes, now: float) -> None:
        """Takes bytes as they come; what follows the last line end waits for its own. Never raises
        for a full disk: lines are counted, and the count is written when there is room again."""
        lines = (self._rest[stream] + data).split(b"\n")
        rest = lines.pop()
        while len(rest) > self._bounds.max_line:
            piece = _head(rest, self._bounds.max_line)
            lines.append(piece)
            rest = rest[len(piece) :]
        self._rest[stream] = rest
        self._append(run, stream, lines, now)

    def end_run(self, run: int, now: float) -> None:
        """Writes what the run left without a line end."""
        for stream, rest in self._rest.items():
            self._rest[stream] = b""
            self._append(run, stream, [rest] if rest else [], now)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, run: int, stream: bytes, lines: list[bytes], now: float) -> None:
        if not lines or self._fd < 0:
            return
        stamp = b"%.6f %d " % (now, run)
        notice = [stamp + b"e [%d lines lost: the disk refused them]\n" % self._lost] if self._lost else []
        head = stamp + stream + b" "
        bound = self._bounds.max_line
        text = b"".join(notice + [head + piece + b"\n" for line in lines for piece in _pieces(line, bound)])
        if self._put(text):
            self._lost = 0
        else:
            self._lost += len(lines)
        if self._size >= self._bounds.max_bytes:
            self._rotate()

    def _put(self, text: bytes) -> bool:
        """All of it or nothing: half a line would join the next one."""
        left = memoryview(text)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            return False
        self._size += len(text)
        return True

    def _rotate(self) -> None:
        try:
            self._number += 1
            fd = self._open()
        except OSError:
            self._number -= 1  # no room for another file: this one goes on, over its bound
            return
        os.close(self._fd)
        self._fd, self._size = fd, 0
        self._drop_old()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        return os.open(path(self._folder, self._number), flags, 0o600)

    def _drop_old(self) -> None:
        with contextlib.suppress(OSError):
            for number in numbers(self._folder)[:-KEPT_FILES]:
                path(self._folder, number).unlink(missing_ok=True)


def _pieces(line: bytes, bound: int) -> Iterator[bytes]:
    while len(line) > bound:
        piece = _head(line, bound)
        yield piece
        line = line[len(piece) :]
    yield line


def _head(line: bytes, bound: int) -> bytes:
    """At most bound bytes, not ending inside a UTF-8 character (whose further bytes are 10xxxxxx)."""
    end = bound
    while end > max(bound - 4, 1) and line[end] & 0xC0 == 0x80:
        end -= 1
    return line[:end]
