"""The `praxis-forge` command as a user runs it, on a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KILLED_AT = """
import os, signal, sys
from forge.state.store import StateStore
point, write, written = int(sys.argv[1]), StateStore.write, 0
def counted(store, state):
    global written
    result = write(store, state)
    written += 1
    if written == point:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
StateStore.write = counted
from forge.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


@dataclass
class Forge:
    """folder: where forge.yaml is. env: beside this process's own."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0

    @property
    def environ(self) -> dict[str, str]:
        plain = {k: v for k, v in os.environ.items() if not k.startswith("FORGE_") and k != "GITHUB_ACTIONS"}
        return {**plain, "NO_COLOR": "1", **self.env}

    def __call__(self, *arguments: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command. check: the exit code it must have; None takes any."""
        done = subprocess.run(
            [sys.executable, "-m", "forge", *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            check=False,
        )
        assert check is None or done.returncode == check, (
            f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def data(self, *arguments: str, check: int | None = 0) -> Any:
        """The data of a command's JSON answer."""
        return json.loads(self(*arguments, "--output", "json", check=check).stdout)["data"]

    def killed_at(self, point: int, *arguments: str) -> bool:
        """Runs a command and kills it after the point-th write of its state; False if it had fewer."""
        done = subprocess.run(
            [sys.executable, "-c", KILLED_AT, str(point), *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            check=False,
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode != 0

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that is under way; killed at the end, if it still is."""
        process = subprocess.Popen(
            [sys.executable, "-m", "forge", *arguments],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def processes_with(marker: str) -> dict[int, str]:
    """PID -> command line of every process whose environment or command line holds marker."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environ = (entry / "environ").read_bytes()
        except OSError:
            continue
        if command and marker.encode() in command + environ:
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found
