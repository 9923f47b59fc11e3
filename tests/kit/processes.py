"""Small builders for tests of supervised processes: specs, programs, and waiting for something to be so."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from forge.embedded.process import procfs
from forge.embedded.process.spec import Backoff, ProcessSpec

DEADLINE_S = 60.0
QUICK = Backoff(first_s=0.01, cap_s=0.05, stable_s=30.0)

T = TypeVar("T")


async def soon(look: Callable[[], T], passes: Callable[[T], bool] = bool) -> T:
    """What look gives once it passes, the event loop running meanwhile."""
    until = time.monotonic() + DEADLINE_S
    while not passes(seen := look()):
        assert time.monotonic() < until, f"never came true; the last look was {seen!r}"
        await asyncio.sleep(0.01)
    return seen


def eventually(look: Callable[[], T], passes: Callable[[T], bool] = bool) -> T:
    """The same without an event loop."""
    until = time.monotonic() + DEADLINE_S
    while not passes(seen := look()):
        assert time.monotonic() < until, f"never came true; the last look was {seen!r}"
        time.sleep(0.01)
    return seen


def python(script: str, *args: str) -> tuple[str, ...]:
    """argv that runs a script; -S and -I since none of them needs more, and it starts in half the time."""
    return (sys.executable, "-I", "-S", "-c", script, *args)


STAY = python("import signal; signal.pause()")


def spec(root: Path, argv: tuple[str, ...] = STAY, name: str = "web", **fields: Any) -> ProcessSpec:
    env = {"PATH": os.environ["PATH"]}
    plain = ProcessSpec(name, argv, str(root / name / "root"), env=env, backoff=QUICK, grace_s=0.5)
    return replace(plain, **fields)


def is_gone(pid: int) -> bool:
    """No such process, or one that nobody has collected yet."""
    return procfs.start_ticks(pid) is None or procfs.is_zombie(pid)
