"""Files that are replaced whole or not at all, and folders that are turned to a new content at once."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from forge.errors import OperationFailed

PUBLIC, PRIVATE = 0o644, 0o600
_DATA: Final = "..data"
_MARK: Final = "..forge-"
"""Begins the names of everything else that is made in a folder that is turned."""


def read(path: Path) -> bytes | None:
    """The file's bytes; None where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def sha256(path: Path) -> str | None:
    """Of the file's bytes, in hex; None where it cannot be read."""
    data = read(path)
    return None if data is None else hashlib.sha256(data).hexdigest()


def cannot_write(path: Path, error: OSError) -> OperationFailed:
    return OperationFailed(
        "FG0770",
        f"cannot write {path}",
        why=error.strerror or str(error),
        hint="make room or fix the permissions, then run it again",
    )


def write(path: Path, data: bytes, mode: int) -> None:
    """Replaces the file by rename, with exactly that mode. Raises OSError."""
    temporary = _temporary(path)
    temporary.unlink(missing_ok=True)  # of a run that was killed
    try:
        _write_new(temporary, data, mode)
        temporary.replace(path)
        _sync(path.parent)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Takes the file away, and what a write that was killed left of it. Raises OSError."""
    for file in (_temporary(path), path):
        file.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def missing_folders(path: Path) -> tuple[Path, ...]:
    """It and those above it that are not there, outermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    return tuple(reversed(missing))


def make_folder(path: Path, mode: int = 0o755) -> None:
    """Makes it with its parents, each with exactly that mode. Raises OSError."""
    for folder in missing_folders(path):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "there is a file where a folder should be", str(path))


def publish(folder: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
    """Turns the folder to these files (name -> bytes and mode) at once; see the package's docstring.

    It is made where it is missing. Nothing is synced: what a power cut may leave is seen by its hash and
    written anew, and a lab's first `up` should not wait for a disk. Raises OSError; the folder shows
    what it showed before then.
    """
    make_folder(folder)
    version = folder / f"{_MARK}{os.urandom(4).hex()}"
    version.mkdir()
    version.chmod(0o755)
    for name, (data, mode) in files.items():
        _write_new(version / name, data, mode, sync=False)
    _turn(folder / _DATA, version.name)
    for name in files:
        _turn(folder / name, f"{_DATA}/{name}")
    for old in folder.glob(f"{_MARK}*"):
        if old.name != version.name:
            _drop(old)


def content(folder: Path) -> Path:
    """Where its files are now, for reading several that fit. Raises OSError."""
    return (folder / _DATA).resolve(strict=True)


def withdraw(folder: Path, names: Iterable[str]) -> None:
    """Takes away what `publish` made. A file that lies where a link was is not ours, and stays."""
    for name in names:
        link = folder / name
        if link.is_symlink() and link.readlink() == Path(_DATA, name):
            link.unlink(missing_ok=True)
    data = folder / _DATA
    if data.is_symlink() and data.readlink().name.startswith(_MARK):
        data.unlink(missing_ok=True)
    for old in folder.glob(f"{_MARK}*"):
        _drop(old)


def remove_empty(folders: Iterable[str | Path]) -> None:
    """Removes those folders that are empty, innermost first."""
    for folder in sorted(map(str, folders), key=len, reverse=True):
        with suppress(OSError):  # it is not there, or holds what is not ours
            Path(folder).rmdir()


def _turn(link: Path, target: str) -> None:
    """Makes it a link to target, whatever it was before."""
    if link.is_symlink() and str(link.readlink()) == target:
        return
    temporary = link.with_name(f"{_MARK}{os.urandom(4).hex()}.link")
    temporary.symlink_to(target)
    temporary.replace(link)


def _drop(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes, mode: int, *, sync: bool = True) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(data)
        file.flush()
        if sync:
            os.fsync(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
