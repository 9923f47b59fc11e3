"""Waiting for what is bound to happen, by looking again, with a generous deadline and no fixed sleep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def eventually(holds: Callable[[], bool], what: str, within_s: float = 20.0) -> None:
    """Returns as soon as *holds()*; fails with *what* when it does not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not holds():
        assert loop.time() < deadline, f"not in {within_s} s: {what}"
        await asyncio.sleep(0.002)
