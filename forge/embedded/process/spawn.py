"""The fork: a process in its own session that dies with the supervisor, its output on two pipes.

PR_SET_PDEATHSIG must be set between fork and exec. Doing it in a preexec_fn costs 2 ms a start against
10 ms for a wrapper program, and is safe here: it calls one C function resolved beforehand, takes no
lock and allocates nothing that another thread could hold. The signal follows the *thread* that forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from forge.errors import OperationFailed

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class Child:
    """A started process. stdout, stderr: non-blocking read ends, the caller's to close.
    exited: a descriptor that turns readable when it ends."""

    def __init__(self, popen: subprocess.Popen[bytes], exited: int, stdout: int, stderr: int) -> None:
        self._popen = popen
        self.pid = popen.pid
        self.exited = exited
        self.stdout = stdout
        self.stderr = stderr

    def signal(self, number: int) -> None:
        """To the process itself, as an engine does; nothing when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.exited, number)

    def kill_group(self) -> None:
        """SIGKILL to whatever is left in its group, itself included."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def collect(self) -> int:
        """Its exit code, 128 and the number for a signal; call it when `exited` is readable."""
        code = self._popen.wait()
        os.close(self.exited)
        return code if code >= 0 else 128 - code


def start(
    name: str, argv: Sequence[str], env: Mapping[str, str], cwd: str, groups: Sequence[int] = ()
) -> Child:
    """Starts argv, its program looked for on env's PATH. Raises OperationFailed when there is no such
    program or the machine refuses; nothing was started then."""
    program = find_program(argv[0], env, cwd) if argv else None
    if program is None:
        raise _refused(name, f"there is no program {argv[0]!r} on its PATH" if argv else "its argv is empty")
    ends: list[int] = []
    try:
        ends += os.pipe()
        ends += os.pipe()
        popen = _fork(program, argv, env, cwd, groups, (ends[1], ends[3]))
        exited = _watch(popen)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in a word
        for fd in ends:
            os.close(fd)
        raise _refused(name, str(error)) from error
    stdout, stdout_of_child, stderr, stderr_of_child = ends
    for fd in (stdout_of_child, stderr_of_child):
        os.close(fd)
    for fd in (stdout, stderr):
        os.set_blocking(fd, False)
    return Child(popen, exited, stdout, stderr)


def find_program(program: str, env: Mapping[str, str], cwd: str) -> str | None:
    """The file that runs: a word with a slash is a path, from cwd; another is looked for on PATH."""
    if "/" in program:
        return str(Path(cwd) / program)
    return shutil.which(program, path=env.get("PATH", os.defpath))


def _fork(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    groups: Sequence[int],
    output: tuple[int, int],
) -> subprocess.Popen[bytes]:
    with warnings.catch_warnings():  # 3.12 warns of any fork beside threads; see the head of this file
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            list(argv),
            executable=program,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output[0],
            stderr=output[1],
            start_new_session=True,
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - see the head of this file
            extra_groups=sorted({*os.getgroups(), *groups}) if groups and os.geteuid() == 0 else None,
        )


def _watch(popen: subprocess.Popen[bytes]) -> int:
    """A descriptor of the process. Raises OSError when there is none left: then it does not run either."""
    try:
        return os.pidfd_open(popen.pid)
    except OSError:
        popen.kill()
        popen.wait()
        raise


def _die_with(parent: int) -> Callable[[], None]:
    def in_child() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return in_child


def _refused(name: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0503",
        f"cannot start {name!r}",
        why=why,
        hint="check the process of its image, and its args",
        changed=False,
    )
