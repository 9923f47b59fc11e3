"""Sites as processes, followed by what they print: who lives for them, and what others say."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORT = 7946
MEMORY_KB = 24 * 1024
"""What a process may grow by under a flood: an interpreter's own untidiness, and no more for a longer one."""


@dataclass(frozen=True, slots=True)
class Start:
    """A site to start. within: a command that runs another, in a namespace of its own."""

    name: str
    host: str
    seeds: tuple[str, ...]
    within: tuple[str, ...] = ()


@dataclass(slots=True)
class Running:
    """name: its site. living, facts: as it last said."""

    name: str
    process: Process
    living: set[str] = field(default_factory=set)
    facts: dict[str, str] = field(default_factory=dict)

    async def follow(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said = json.loads(line)
            self.living, self.facts = set(said["living"]), said["facts"]

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")

    def resident_kb(self) -> int:
        return resident_kb(str(self.process.pid))


def resident_kb(pid: str = "self") -> int:
    """What the kernel counts as a process's memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


async def started(start: Start) -> Running:
    argv = (
        *start.within,
        sys.executable,
        "-m",
        "tests.kit.mesh_process",
        start.host,
        start.name,
        *start.seeds,
    )
    return Running(start.name, await asyncio.create_subprocess_exec(*argv, stdin=PIPE, stdout=PIPE, cwd=ROOT))


@asynccontextmanager
async def all_started(starts: Iterable[Start]) -> AsyncIterator[list[Running]]:
    """Killed at the end, those that still run."""
    running: list[Running] = []
    async with asyncio.TaskGroup() as group:
        try:
            for start in starts:
                running.append(await started(start))
                group.create_task(running[-1].follow())
            yield running
        finally:
            for one in running:
                if one.process.returncode is None:
                    one.process.kill()
            for one in running:
                await one.process.wait()


def is_one(some: Iterable[Running]) -> bool:
    some = list(some)
    names = {one.name for one in some}
    return all(one.living == names - {one.name} for one in some)
