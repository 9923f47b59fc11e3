"""One process through its starts and ends: the shell round the law in restart.py.

        start ──► RUNNING ──exit──► STARTING ──back-off──► RUNNING
                     │    └─policy─► COMPLETED | FAILED
                  stop ──────────────────────────────────► STOPPED

An exit takes everything of that run with it: the rest of its group, and whatever left the group but still
carries its marker, as the end of a container would. Only then may the next run begin.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forge.embedded.process import logs, mounts, procfs, record, restart, spawn
from forge.embedded.process.relay import Relay
from forge.embedded.process.spec import Phase, ProcessSpec, Publish, Status
from forge.errors import OperationFailed

_READ = 64 * 1024
_LAST_READS = 32
"""Reads from a pipe after its process ended: 2 MiB, twice the largest pipe a user may make."""

_REOPEN_S = 1.0
_GONE_S = 10.0
"""How long a process may need to vanish after SIGKILL before stopping it counts as failed."""

NOT_STARTED = 127
"""The exit code of a start that failed after the first, as a shell gives it."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something to run beside a process: its argv, environment and folder after the mounts."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


class Supervised:
    """spec: replaced only while nothing runs. folder: of all records. changed: told of each status."""

    def __init__(
        self, spec: ProcessSpec, status: Status, folder: Path, scope: str, changed: Callable[[Status], None]
    ) -> None:
        self._scope = scope
        self.spec = spec
        self.status = status
        self._loop = asyncio.get_running_loop()
        self._folder = folder
        self._marker = f"{scope}/{spec.name}/{status.id}"
        self._changed = changed
        self._child: spawn.Child | None = None
        self._relays = [self._relay(p) for p in spec.publish]
        self._log = logs.LogWriter(folder / status.id, spec.log)
        self._timer: asyncio.TimerHandle | None = None
        self._reopen: asyncio.TimerHandle | None = None
        self._quick_exits = 0
        self._trouble = ""
        self._stopping = False
        self._ended = asyncio.Event()
        self._ended.set()
        self._running_since = 0.0

    def command(self, argv: Sequence[str]) -> Command:
        """What to run for argv beside this process, as the mounts have it."""
        follow = mounts.rewriter(self.spec.root, [m.target for m in self.spec.mounts])
        env = {**self.spec.base, **{key: follow(value) for key, value in self.spec.env.items()}}
        cwd = follow(self.spec.cwd) if self.spec.cwd else self.spec.root
        return Command(tuple(follow(word) for word in argv), env, cwd)

    def start(self) -> None:
        """Starts it; nothing when it runs. Raises OperationFailed: then nothing of the start is left."""
        if self._child is not None:
            return
        self._cancel_timer()
        self._stopping = False
        self._quick_exits = 0
        self._trouble = ""
        mounts.materialise(self.spec.root, self.spec.mounts)
        try:
            self._open_ports()
            self._spawn()
        except OperationFailed:
            self._close_ports()
            raise

    async def stop(self, grace_s: float) -> None:
        """SIGTERM, SIGKILL after grace_s; without a grace SIGKILL alone. Returns when all of it is gone.
        What had ended stays as it was. Raises OperationFailed when the kernel does not let it go."""
        self._stopping = True
        self._cancel_timer()
        if self._child is None:
            if self.status.phase is Phase.STARTING:
                self._set(phase=Phase.STOPPED, detail="")
            return
        if grace_s > 0:
            self._child.signal(signal.SIGTERM)
        self._timer = self._loop.call_later(grace_s, self._child.kill_group)
        try:
            async with asyncio.timeout(grace_s + _GONE_S):
                await self._ended.wait()
                while procfs.kill_once(self._marker):  # noqa: ASYNC110 - the kernel sends no event for it
                    await asyncio.sleep(0.005)
        except TimeoutError as error:
            why = f"process {self.status.pid} is still there {_GONE_S:g} s after SIGKILL"
            raise OperationFailed(
                "FG0511", f"cannot stop {self.spec.name!r}", why=why, changed=True
            ) from error

    def close(self) -> None:
        """Lets go of files and ports. Only when nothing runs."""
        self._cancel_timer()
        for relay in self._relays:
            relay.close()
        self._log.close()

    def _spawn(self) -> None:
        todo = self.command(self.spec.argv)
        env = {**todo.env, procfs.MARKER: self._marker}
        child = spawn.start(self.spec.name, todo.argv, env, todo.cwd, self.spec.groups)
        self._child = child
        self._ended.clear()
        self._running_since = time.monotonic()
        for stream, fd in ((logs.STDOUT, child.stdout), (logs.STDERR, child.stderr)):
            self._loop.add_reader(fd, self._said, stream, fd)
        self._loop.add_reader(child.exited, self._exited)
        self._set(
            phase=Phase.RUNNING,
            pid=child.pid,
            ticks=procfs.start_ticks(child.pid),
            run=self.status.run + 1,
            started_at=time.time(),
            detail=self._trouble,
            ports=tuple(a for relay in self._relays for a in relay.listening),
        )

    def _said(self, stream: bytes, fd: int) -> bool:
        """Logs one buffer; False when there is no more for now, or for ever."""
        try:
            data = os.read(fd, _READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(fd)
            return False
        self._log.write(self.status.run, stream, data, time.time())
        return True

    def _exited(self) -> None:
        child = self._child
        if child is None:
            return
        self._loop.remove_reader(child.exited)
        child.kill_group()  # before its id is given back, so that it hits nobody else
        code = child.collect()
        procfs.kill_once(self._marker)
        self._child = None
        self._ended.set()
        self._cancel_timer()
        self._close_ports()
        for stream, fd in ((logs.STDOUT, child.stdout), (logs.STDERR, child.stderr)):
            self._drain(stream, fd)
        self._log.end_run(self.status.run, time.time())
        self._after(code, time.monotonic() - self._running_since, "")

    def _drain(self, stream: bytes, fd: int) -> None:
        for _ in range(_LAST_READS):
            if not self._said(stream, fd):
                break
        self._loop.remove_reader(fd)
        os.close(fd)

    def _after(self, code: int, ran_s: float, detail: str) -> None:
        """What the policy makes of an end."""
        over = {"pid": None, "ticks": None, "exit_code": code, "ended_at": time.time(), "detail": detail}
        if self._stopping:
            self._set(phase=Phase.STOPPED, **over)
        elif not restart.restarts(self.spec.restart, code):
            self._set(phase=restart.ended(code), **over)
        else:
            self._quick_exits = restart.in_a_row(self._quick_exits, ran_s, self.spec.backoff)
            wait_s = restart.delay_s(self._quick_exits, self.spec.backoff)
            said = detail or f"exited with {code}"
            self._set(phase=Phase.STARTING, **{**over, "detail": f"{said}, starts again in {wait_s:g} s"})
            self._timer = self._loop.call_later(wait_s, self._again)

    def _again(self) -> None:
        self._timer = None
        self.status = replace(self.status, restarts=self.status.restarts + 1)
        try:
            self._reopen_ports()
            if not Path(self.spec.root).is_dir():  # somebody tidied up
                mounts.materialise(self.spec.root, self.spec.mounts)
            self._spawn()
        except OperationFailed as failure:
            self._close_ports()
            self._log.write(self.status.run, logs.STDERR, f"[{failure.why}]\n".encode(), time.time())
            self._after(NOT_STARTED, 0.0, failure.why)

    def _relay(self, publish: Publish) -> Relay:
        return Relay(self._loop, [(address, publish.port) for address in publish.listen], publish.optional)

    def _endpoints(self, publish: Publish) -> list[tuple[str, int]]:
        return [(self.spec.address or "127.0.0.1", publish.container)]

    def _open_ports(self) -> None:
        for relay, publish in zip(self._relays, self.spec.publish, strict=True):
            try:
                relay.set_endpoints(self._endpoints(publish))
            except OSError as error:
                raise OperationFailed(
                    "FG0504",
                    f"cannot publish a port of {self.spec.name!r}",
                    why=f"{error.filename}: {error.strerror}",
                    hint="free the port, or publish another one",
                    changed=False,
                ) from error

    def _reopen_ports(self) -> None:
        """At a restart a lost port is no reason not to run: it is said, and tried again."""
        self._reopen = None
        self._trouble = ""
        try:
            self._open_ports()
        except OperationFailed as failure:
            self._trouble = f"not published: {failure.why}"
            self._reopen = self._loop.call_later(_REOPEN_S, self._retry_ports)

    def _retry_ports(self) -> None:
        self._reopen_ports()
        self._set(detail=self._trouble, ports=tuple(a for relay in self._relays for a in relay.listening))

    def _close_ports(self) -> None:
        if self._reopen is not None:
            self._reopen.cancel()
            self._reopen = None
        for relay in self._relays:
            relay.set_endpoints(())
        self.status = replace(self.status, ports=())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, **changes: Any) -> None:
        self.status = replace(self.status, **changes)
        with contextlib.suppress(OSError):  # a full disk must not end what runs; memory is what is asked
            record.write(
                self._folder, record.Record(self.status, self.spec.root, self._scope, procfs.boot_id())
            )
        self._changed(self.status)
