"""The supervisor as a library: processes by name, in the event loop that it was made in.

What an earlier supervisor left on the same folder is ended when this one begins, and reported as it then
stands: such a process has no spec any more, and is removed or started with a new one. One supervisor a
folder: the caller holds a lock. Calls for one name are made one after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from forge.embedded.process import mounts, procfs, record
from forge.embedded.process.spec import Phase, ProcessSpec, Status
from forge.embedded.process.supervised import Command, Supervised
from forge.errors import OperationFailed


class Supervisor:
    """folder: where records and logs lie, made when missing. scope: what marks all its processes; no
    other supervisor of this machine may have it."""

    def __init__(self, folder: Path, scope: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._scope = scope
        self._live: dict[str, Supervised] = {}
        self._left = {r.status.name: r for r in record.recover(folder, scope)}
        self._watchers: list[Callable[[Status], None]] = []

    def subscribe(self, watcher: Callable[[Status], None]) -> Callable[[], None]:
        """Calls watcher with each new status from now on, in order; gives the function that ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def status(self, name: str) -> Status | None:
        if name in self._live:
            return self._live[name].status
        return self._left[name].status if name in self._left else None

    def statuses(self) -> list[Status]:
        """All, by name."""
        return [s for name in sorted({*self._live, *self._left}) if (s := self.status(name))]

    def log_folder(self, name: str) -> Path | None:
        """Where the logs of the present instance lie, for follow.py."""
        status = self.status(name)
        return None if status is None else self._folder / status.id

    def create(self, spec: ProcessSpec) -> Status:
        """Makes and starts it. Raises OperationFailed when it cannot start, OSError when the disk or
        the machine has no room for its files, leaving nothing behind; ValueError when the name is in use."""
        if self.status(spec.name) is not None:
            raise ValueError(f"{spec.name} exists")
        status = Status(
            f"{spec.name}.{os.urandom(6).hex()}",
            spec.name,
            Phase.BROKEN,
            labels=dict(spec.labels),
            address=spec.address,
            detail="it never started",
        )
        try:
            (self._folder / status.id).mkdir(mode=0o700)
            record.write(self._folder, record.Record(status, spec.root, self._scope, procfs.boot_id()))
            return self._begin(spec, status)
        except (OperationFailed, OSError):
            self._clear(status.id, spec.root)
            raise

    def start(self, name: str, spec: ProcessSpec | None = None) -> Status:
        """Starts what had ended. spec: for one whose own was lost with an earlier supervisor, or in
        place of its own where both publish the same. Raises OperationFailed when it cannot start, and as
        it stands for one that is not known."""
        if name in self._live:
            one = self._live[name]
            if (
                spec is not None
                and one.status.phase is not Phase.RUNNING
                and one.spec.publish == spec.publish
            ):
                one.spec = spec
            one.start()
            return one.status
        left = self._left.get(name)
        if left is None or spec is None:
            raise unknown(name)
        status = self._begin(spec, left.status)
        del self._left[name]
        return status

    async def stop(self, name: str, grace_s: float) -> None:
        """SIGTERM, SIGKILL after grace_s; it stays stopped, its logs stay."""
        if name in self._live:
            await self._live[name].stop(grace_s)
        elif name not in self._left:
            raise unknown(name)
        elif self._left[name].status.phase is Phase.BROKEN:
            left = self._left[name]
            stopped = replace(left.status, phase=Phase.STOPPED, detail="")
            self._left[name] = replace(left, status=stopped)
            record.write(self._folder, self._left[name])

    async def remove(self, name: str, grace_s: float) -> None:
        """Stops it and removes all of it, logs too. One that is not known is a success."""
        if name in self._live:
            one = self._live[name]
            await one.stop(grace_s)
            one.close()
            self._clear(one.status.id, one.spec.root)
            del self._live[name]
        elif name in self._left:
            left = self._left.pop(name)
            self._clear(left.status.id, left.root)

    def command(self, name: str, argv: Sequence[str]) -> Command:
        """What to run for argv beside a process. Raises OperationFailed for one that is not known."""
        if name not in self._live:
            raise unknown(name)
        return self._live[name].command(argv)

    async def close(self) -> None:
        """Ends all processes, each with its own grace; records stay."""
        async with asyncio.TaskGroup() as group:
            for one in self._live.values():
                group.create_task(_end(one))

    def _begin(self, spec: ProcessSpec, status: Status) -> Status:
        one = Supervised(spec, status, self._folder, self._scope, self._tell)
        try:
            one.start()
        except OperationFailed:
            one.close()
            raise
        self._live[spec.name] = one
        return one.status

    def _tell(self, status: Status) -> None:
        """In the next turn of the loop, so that a watcher that fails harms nobody else."""
        loop = asyncio.get_running_loop()
        for watcher in tuple(self._watchers):
            loop.call_soon(self._tell_one, watcher, status)

    def _tell_one(self, watcher: Callable[[Status], None], status: Status) -> None:
        if watcher in self._watchers:
            watcher(status)

    def _clear(self, identity: str, root: str) -> None:
        mounts.clear(root)
        with contextlib.suppress(OSError):
            Path(root).parent.rmdir()  # only when nothing else lies in it
        shutil.rmtree(self._folder / identity, ignore_errors=True)


async def _end(one: Supervised) -> None:
    with contextlib.suppress(OperationFailed):
        await one.stop(one.spec.grace_s)
    one.close()


def unknown(name: str) -> OperationFailed:
    return OperationFailed(
        "FG0510",
        f"the supervisor knows no process {name!r}",
        why="it was removed, or its supervisor ended and took its settings along",
        hint="run `praxis-forge up`, which makes it again",
        changed=False,
    )
