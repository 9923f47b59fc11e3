"""A command beside a process, to its end: an exec probe, a hook, `kubectl exec` without a terminal.

It runs in the event loop, in a session of its own, and is over when its deadline is: nothing of it stays.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from forge.embedded.process import spawn
from forge.embedded.process.supervised import Command

MAX_OUTPUT = 64 * 1024
"""Bytes kept of each stream; a probe's output is shown in one line, and kubelet keeps 10 KiB."""


@dataclass(frozen=True, slots=True)
class Ended:
    """code: 128 and the number for a signal; None when its time was over and it was killed.
    stdout, stderr: the first MAX_OUTPUT bytes."""

    code: int | None
    stdout: bytes = b""
    stderr: bytes = b""


async def run(name: str, command: Command, timeout_s: float) -> Ended:
    """The end of the command. Raises OperationFailed when it cannot start."""
    child = spawn.start(name, command.argv, command.env, command.cwd)
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    output = {child.stdout: bytearray(), child.stderr: bytearray()}
    for fd, kept in output.items():
        loop.add_reader(fd, _keep, loop, fd, kept)
    loop.add_reader(child.exited, exited.set)
    in_time = False
    try:
        async with asyncio.timeout(timeout_s):
            await exited.wait()
        in_time = True
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(child.exited)
        child.kill_group()
        code = child.collect()
        for fd, kept in output.items():
            while _keep(loop, fd, kept):
                pass
            loop.remove_reader(fd)
            os.close(fd)
    return Ended(code if in_time else None, bytes(output[child.stdout]), bytes(output[child.stderr]))


def _keep(loop: asyncio.AbstractEventLoop, fd: int, kept: bytearray) -> bool:
    """Takes one buffer; False when there is no more for now, or for ever."""
    try:
        data = os.read(fd, MAX_OUTPUT)
    except BlockingIOError:
        return False
    if not data:
        loop.remove_reader(fd)
    kept += data[: MAX_OUTPUT - len(kept)]
    return bool(data)
