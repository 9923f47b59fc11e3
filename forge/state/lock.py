"""Who may work on an environment: one lock a state directory, one a name on this host.

flock on a file: it cannot go stale, since it ends with its process. The file holds who has it, for
the message of whoever waits. (The filelock library does the same; importing it costs a third of
what a whole `up` without changes may take, as it brings asyncio along.)
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from forge.errors import LockHeld, OperationFailed

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Holder:
    """pid: of the process that holds a lock. since: Unix seconds."""

    pid: int
    command: str
    since: float
    directory: str = ""

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(self.since))
        where = f" in {self.directory}" if self.directory else ""
        return f"process {self.pid} ({self.command}{where}), since {clock}"


@contextmanager
def locked(
    directory: Path,
    environment: str,
    command: str,
    *,
    timeout_s: float,
    on_wait: Callable[[str], None],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Holds both locks. on_wait is called once with who holds one that is not free.

    Raises LockHeld FG0204 after timeout_s, or at once where is_cancelled says so. The host's lock
    keeps two checkouts of one environment, whose state directories differ, apart.
    """
    holder = Holder(os.getpid(), command, time.time(), str(directory))
    deadline = time.monotonic() + timeout_s
    told: list[str] = []

    def wait(path: Path) -> None:
        text = _holder_text(path)
        if text not in told:
            told.append(text)
            on_wait(text)
        if time.monotonic() >= deadline or is_cancelled():
            raise LockHeld(
                "FG0204",
                f"environment {environment!r} is locked",
                why=f"held by {text}",
                hint="wait for it to end, or give it longer with --lock-timeout",
                changed=False,
            )
        time.sleep(_POLL_S)

    with ExitStack() as stack:
        if not directory.exists():
            stack.callback(sweep, directory)
        for path in (directory / "lock", host_directory() / "locks" / f"{environment}.lock"):
            stack.enter_context(_hold(path, holder, wait))
        yield


def sweep(directory: Path) -> None:
    """Removes a state directory in which nothing is but the lock of a command that was killed."""
    lock = directory / "lock"
    with suppress(OSError):
        if [path.name for path in directory.iterdir()] == [lock.name]:
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
            try:
                if _try(descriptor) and _stands_at(lock, descriptor):
                    lock.unlink()
            finally:
                os.close(descriptor)
        directory.rmdir()


def host_directory() -> Path:
    """Where Forge keeps what concerns all environments of this user on this host."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(base) / "praxis-forge"


@contextmanager
def _hold(path: Path, holder: Holder, wait: Callable[[Path], None]) -> Iterator[None]:
    descriptor = _acquire(path, wait)
    try:
        with suppress(OSError):  # on a full disk nobody learns who holds it, and it is held all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(_fields(holder)).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, wait: Callable[[Path], None]) -> int:
    """The descriptor of the locked file that stands at path. A holder removes its file when it
    ends, so what was waited for may be a file that is gone: then the wait begins again."""
    while True:
        descriptor = _open(path)
        try:
            while not _try(descriptor):
                wait(path)
            if _stands_at(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _stands_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OperationFailed(
            "FG0205",
            f"cannot open the lock file {path}",
            why=error.strerror or str(error),
            hint="make its directory writable, or set XDG_STATE_HOME or --state-dir to one that is",
            changed=False,
        ) from error


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fields(holder: Holder) -> dict[str, object]:
    return {
        "pid": holder.pid,
        "command": holder.command,
        "since": holder.since,
        "directory": holder.directory,
    }


def _holder_text(path: Path) -> str:
    """Who holds it, as its holder wrote it; it may be between its lock and its writing."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return str(
            Holder(
                int(fields["pid"]), str(fields["command"]), float(fields["since"]), str(fields["directory"])
            )
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
