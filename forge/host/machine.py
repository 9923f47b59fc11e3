"""Reads off this machine what `doctor` wants to know. Everything may be unreadable: then None."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path


def system() -> str:
    return platform.system()


def disk_free(path: Path) -> int | None:
    """Bytes free on the file system of path, or of its nearest parent that exists."""
    for folder in (path, *path.parents):
        try:
            return shutil.disk_usage(folder).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def memory_available() -> int | None:
    """MemAvailable of /proc/meminfo, in bytes."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None
    return None


def sysctl(name: str) -> int | None:
    """A kernel parameter that is a number, such as `fs.inotify.max_user_instances`."""
    try:
        return int(Path("/proc/sys", *name.split(".")).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def file_limit() -> int | None:
    """The hard limit of open files, which a program may raise its own to; None: no limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if hard == resource.RLIM_INFINITY else hard


def cgroup_version() -> int | None:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return 2
    return 1 if root.is_dir() and any(root.iterdir()) else None


def missing_programs(wanted: Iterable[tuple[str, str]], extra_path: str = "") -> dict[str, str]:
    """Of (program, who wants it): those that are neither on PATH nor in extra_path."""
    path = os.pathsep.join(filter(None, (extra_path, os.environ.get("PATH", os.defpath))))
    return {program: who for program, who in wanted if shutil.which(program, path=path) is None}


def not_writable(paths: Iterable[Path]) -> str | None:
    """What keeps Forge from writing to the first of these directories that it cannot write to. The
    directories need not exist, and are not made: the nearest that does is tried with a file."""
    for path in paths:
        folder = next((p for p in (path, *path.parents) if p.exists()), path)
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return f"{folder}: {error.strerror or error}"
    return None
