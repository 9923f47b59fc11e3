"""A command beside a service of the embedded runtime: on this terminal, or quietly as a health check."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

from forge.errors import OperationFailed
from forge.plan.ports import ProbeResult


@dataclass(frozen=True, slots=True)
class Command:
    """argv and cwd as the service's mounts have them; env: the service's own."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str


def on_terminal(command: Command) -> int:
    """Its exit code, 128 and the number for a signal. Raises OperationFailed when it cannot start."""
    import subprocess

    try:
        code = subprocess.run(command.argv, env=command.env, cwd=command.cwd, check=False).returncode
    except OSError as error:
        what = f"cannot run {command.argv[0]!r}"
        raise OperationFailed("FG0503", what, why=str(error), hint="check the command") from error
    return code if code >= 0 else 128 - code


def probe(command: Command, timeout_s: float) -> ProbeResult:
    """Passes on exit code 0. At its timeout it is killed with all of its group."""
    import subprocess

    quiet = subprocess.DEVNULL
    try:
        with subprocess.Popen(
            command.argv,
            env=command.env,
            cwd=command.cwd,
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        ) as running:
            try:
                code = running.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                return ProbeResult(ok=False, detail=f"no end within {timeout_s:g} s")
    except OSError as error:
        return ProbeResult(ok=False, detail=str(error))
    return ProbeResult(ok=code == 0, detail=f"exit code {code if code >= 0 else 128 - code}")
