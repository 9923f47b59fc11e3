"""Who a process is, and the end of those that a dead supervisor left behind.

Every process carries PRAXIS_FORGE_ID=<scope>/<name>/<instance> in its environment, and so do its
children. A process id alone proves nothing, since the kernel gives it again: a process is ours when its
environment says so, or when it is the recorded one by id, start time and boot (a program may
overwrite its environment to change its title).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MARKER = "PRAXIS_FORGE_ID"

_PROC = Path("/proc")
_GONE_S = 5.0
"""How long SIGKILL may take: only a process stuck in the kernel (a dead network disk) takes longer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """pid: of a process. ticks: its start, in clock ticks since boot. boot: the boot's id."""

    pid: int
    ticks: int
    boot: str


def boot_id() -> str:
    """Of this boot of the machine; empty where the kernel does not say."""
    return _text(_PROC / "sys/kernel/random/boot_id").strip()


def start_ticks(pid: int) -> int | None:
    """When pid started, in clock ticks since boot; None when there is no such process."""
    fields = _text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 else None


def is_zombie(pid: int) -> bool:
    """Whether pid has ended and waits for its parent to ask."""
    return _text(_PROC / str(pid) / "stat").rpartition(")")[2].split()[:1] == ["Z"]


def is_alive(who: Identity) -> bool:
    """Whether that very process still runs."""
    return who.boot == boot_id() and start_ticks(who.pid) == who.ticks and not is_zombie(who.pid)


def marked(prefix: str) -> Iterator[int]:
    """Processes whose marker begins with prefix, this one excepted. Unreadable ones are not ours."""
    wanted = f"{MARKER}={prefix}".encode()
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _carries(entry / "environ", wanted):
            yield int(entry.name)


def kill_once(prefix: str, known: Collection[Identity] = ()) -> set[int]:
    """Sends SIGKILL to all processes of a prefix (`scope/`, or `scope/name/instance`) and to known ones
    that are still the same; gives their ids. They may need some milliseconds to go."""
    found = {pid for pid in marked(prefix) if _kill(pid, prefix)}
    return found | {who.pid for who in known if is_alive(who) and _kill_known(who)}


def kill_all(prefix: str, known: Collection[Identity] = ()) -> int:
    """The same until none is left, or some seconds have passed; blocks. Gives how many there were."""
    deadline = time.monotonic() + _GONE_S
    killed: set[int] = set()
    while True:
        found = kill_once(prefix, known)
        killed |= found
        if not found or time.monotonic() > deadline:
            return len(killed)
        time.sleep(0.005)


def _kill(pid: int, prefix: str) -> bool:
    """Whether pid was there to be killed. The handle is taken before the last look, so that a process
    that got the id in between is not hit."""
    with _handle(pid) as fd:
        if fd is None or not _carries(_PROC / str(pid) / "environ", f"{MARKER}={prefix}".encode()):
            return False
        return _signal(fd)


def _kill_known(who: Identity) -> bool:
    with _handle(who.pid) as fd:
        return fd is not None and is_alive(who) and _signal(fd)


@contextlib.contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _signal(fd: int) -> bool:
    try:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
    except OSError:
        return False
    return True


def _carries(environ: Path, wanted: bytes) -> bool:
    try:
        return any(item.startswith(wanted) for item in environ.read_bytes().split(b"\0"))
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
