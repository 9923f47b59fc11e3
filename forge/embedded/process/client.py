"""The blocking end of the supervisor's socket: one call, one connection, no event loop.

It starts the daemon when a change needs one; looking starts nothing. Every operation may be asked twice
with the same result, so a call whose daemon died under it is simply made again, to a new daemon.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import forge
from forge.embedded.process import wire
from forge.embedded.process.spec import ProcessSpec, Status, plain
from forge.errors import OperationFailed

_ATTEMPTS = 3
_ANSWER_S = 30.0
"""Seconds beyond a process's grace until an answer counts as missing."""

_START_S = 60.0


class Client:
    """folder: the daemon's own. scope, in calls that change something: for a daemon they may start."""

    def __init__(self, folder: Path) -> None:
        self._files = wire.Files(folder)

    def statuses(self) -> list[Status]:
        """All processes. Without a daemon: what a dead one left, as it stands now."""
        raw = self._ask({"op": "list"})
        if raw is None:
            return self._left()
        return [Status.parse(one) for one in raw["ok"]]

    def _left(self) -> list[Status]:
        if not self._files.services.is_dir():
            return []
        from forge.embedded.process import record

        return [record.after_death(one.status) for one in record.load(self._files.services)]

    def status(self, name: str) -> Status | None:
        return next((s for s in self.statuses() if s.name == name), None)

    def log_folder(self, identity: str) -> Path:
        """Where follow.py finds the logs of a process by id."""
        return self._files.services / identity

    def create(self, spec: ProcessSpec, scope: str, grace_s: float) -> Status:
        """Makes and starts it in place of a leftover of the same owner. Raises OperationFailed, NotOurs."""
        request = {"op": "create", "name": spec.name, "spec": plain(spec), "grace_s": grace_s}
        return Status.parse(self._change(request, scope, grace_s))

    def start(self, spec: ProcessSpec, scope: str) -> Status:
        return Status.parse(self._change({"op": "start", "name": spec.name, "spec": plain(spec)}, scope))

    def stop(self, name: str, scope: str, grace_s: float) -> None:
        self._change({"op": "stop", "name": name, "grace_s": grace_s}, scope, grace_s)

    def remove(self, name: str, identity: str, scope: str, grace_s: float) -> None:
        """Removes this instance; one that is gone is a success."""
        if self.status(name) is not None:
            request = {"op": "remove", "name": name, "id": identity, "grace_s": grace_s}
            self._change(request, scope, grace_s)

    def command(self, name: str, argv: list[str]) -> dict[str, Any] | None:
        """argv, env and cwd of something to run beside a process; None without a daemon."""
        raw = self._ask({"op": "command", "name": name, "argv": argv})
        return None if raw is None else dict(raw["ok"])

    def end(self) -> bool:
        """Ends a daemon with nothing to keep, and removes its folder; False when there is something."""
        if not self._files.folder.is_dir():
            return True
        raw = self._ask({"op": "end"})
        if raw is not None and not raw["ok"]:
            return False
        import shutil

        lock = os.open(self._files.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait_for(lock)
            if self._left():
                return False
            shutil.rmtree(self._files.folder, ignore_errors=True)
        finally:
            os.close(lock)
        return True

    def _wait_for(self, lock: int) -> None:
        until = time.monotonic() + _ANSWER_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise _unreachable("it does not end") from error
                time.sleep(0.01)
            else:
                return

    def _change(self, request: dict[str, Any], scope: str, wait_s: float = 0.0) -> Any:
        for _ in range(_ATTEMPTS):
            raw = self._ask(request, wait_s)
            if raw is not None:
                return raw["ok"]
            self._start_daemon(scope)
        raise _unreachable("it ends again and again; its log is " + str(self._files.log))

    def _ask(self, request: dict[str, Any], wait_s: float = 0.0) -> dict[str, Any] | None:
        """The answer; None when no daemon gave one. Raises the error it answered with."""
        try:
            raw = self._exchange({"protocol": wire.PROTOCOL, **request}, wait_s)
        except TimeoutError as error:
            pid = wire.listener_pid(self._files)
            why = f"process {pid or '?'} gave no answer within {wait_s + _ANSWER_S:g} s"
            raise _unreachable(why) from error
        except (ConnectionError, FileNotFoundError):
            return None
        except OSError as error:
            raise _unreachable(str(error)) from error
        if raw is not None and "error" in raw:
            raise wire.raised(raw["error"])
        return raw

    def _exchange(self, request: dict[str, Any], wait_s: float) -> dict[str, Any] | None:
        peer = wire.connect(self._files, wait_s + _ANSWER_S)
        if peer is None:
            return None
        with peer, peer.makefile("rb") as answers:
            peer.sendall(json.dumps(request).encode() + b"\n")
            line = answers.readline()
        return dict(json.loads(line)) if line.endswith(b"\n") else None

    def _start_daemon(self, scope: str) -> None:
        import subprocess

        argv = [sys.executable, "-P", "-m", "forge.embedded.process"]
        argv += ["--dir", str(self._files.folder), "--scope", scope]
        try:
            done = subprocess.run(
                argv,
                env=_daemon_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_START_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unreachable(str(error)) from error
        if done.returncode:
            lines = tuple(done.stderr.decode("utf-8", "replace").splitlines()[-20:])
            raise _unreachable(lines[-1] if lines else f"it exited with {done.returncode}", lines)


def _daemon_environment() -> dict[str, str]:
    """The caller's, so that the daemon finds this very Forge, and is not taken for a part of a lab that
    the caller itself runs in."""
    from forge.embedded.process.procfs import MARKER

    packages = str(Path(forge.__file__).parent.parent)
    path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
    outer = {name: value for name, value in os.environ.items() if name != MARKER}
    return {**outer, "PYTHONPATH": path}


def _unreachable(why: str, detail: tuple[str, ...] = ()) -> OperationFailed:
    return OperationFailed(
        "FG0505",
        "the supervisor of the embedded runtime cannot be used",
        why=why,
        hint="look at .forge/runtime/.supervisor/log; `up` starts it again when it is gone",
        detail=detail,
    )
