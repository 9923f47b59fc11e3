"""A command of this machine, read line by line while it runs, ended with all of its children in time.

    ended = run(argv, env, folder, tell, cancel)     code, or None where cancel ended it; the last lines
    ended.pasteable                                  `$ kind create cluster --name 'x'`

It dies with this process, whatever ends that: nothing goes on behind the back of a killed Forge.
"""

from __future__ import annotations

import os
import select
import shlex
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge.embedded.process import spawn
from forge.plan.ports import Cancel

_TICK_S = 0.1
_KEPT_LINES = 200


@dataclass(frozen=True, slots=True)
class Ended:
    """code: its exit code, None where it was killed because of cancel. lines: the last it wrote."""

    argv: tuple[str, ...]
    code: int | None
    lines: tuple[str, ...] = field(default=())

    @property
    def pasteable(self) -> str:
        return f"$ {shlex.join(self.argv)}"

    @property
    def last_line(self) -> str:
        return self.lines[-1] if self.lines else ""


def run(
    argv: Sequence[str], env: Mapping[str, str], folder: Path, tell: Callable[[str], None], cancel: Cancel
) -> Ended:
    """Runs it to its end, or kills all of it once cancel is set. folder: where it runs. tell: gets each
    line. Raises OperationFailed when it cannot be started."""
    child = spawn.start(Path(argv[0]).name, argv, env, str(folder))
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    ended = False
    try:
        ended = _follow(child, lines, tell, cancel)
    finally:
        child.kill_group()  # all that is left of it, itself included
        code = child.collect()
        os.close(child.stdout)
        os.close(child.stderr)
    return Ended(tuple(argv), code if ended else None, tuple(lines))


def _follow(child: spawn.Child, lines: deque[str], tell: Callable[[str], None], cancel: Cancel) -> bool:
    """Reads until it has ended; False where cancel was set before that."""
    rest = {child.stdout: b"", child.stderr: b""}
    while not select.select([child.exited], [], [], 0)[0]:
        if cancel.is_set():
            return False
        readable = select.select([child.exited, *rest], [], [], _TICK_S)[0]
        for pipe in readable:
            if pipe in rest:
                _take(pipe, rest, lines, tell)
    for pipe in tuple(rest):
        _take(pipe, rest, lines, tell)
        _line(rest.get(pipe, b""), lines, tell)
    return True


def _take(pipe: int, rest: dict[int, bytes], lines: deque[str], tell: Callable[[str], None]) -> None:
    """What is there to read now; a pipe that has ended is asked no more."""
    while True:
        try:
            piece = os.read(pipe, 64 * 1024)
        except BlockingIOError:
            return
        if not piece:
            _line(rest.pop(pipe), lines, tell)
            return
        *whole, rest[pipe] = (rest[pipe] + piece).split(b"\n")
        for line in whole:
            _line(line, lines, tell)


def _line(raw: bytes, lines: deque[str], tell: Callable[[str], None]) -> None:
    text = raw.decode("utf-8", "replace").rstrip()
    if text:
        lines.append(text)
        tell(text)
