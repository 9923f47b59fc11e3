"""Files of an environment by the paths forge.yaml writes: fenced in, remembered as they were, replaced whole.

`.forge/...` is the state directory, wherever that is. Everything else is relative to the file's folder
and stays inside spec.root, symbolic links followed: a link that leads out is refused, not read. What was
read is remembered by its time and size, so that a later command can tell whether it may be trusted still.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from forge.errors import OperationFailed
from forge.plan.lab_ports import Seen

MAX_BYTES = 64 * 1024 * 1024
"""One file that is read whole; a large manifest has a megabyte."""

T = TypeVar("T")


class LabFiles:
    """folder: of forge.yaml. fence: the folder that paths stay in, folder itself where it is left out."""

    def __init__(self, folder: Path, state_dir: Path, fence: Path | None = None) -> None:
        self._folder = folder
        self._state_dir = state_dir
        self._fence = fence or folder
        self._seen: dict[str, Seen] = {}
        self._lock = threading.Lock()

    def within(self, root: str) -> LabFiles:
        """The same files with the fence at spec.root (`.`, `..`) and one memory of what was seen."""
        other = LabFiles(self._folder, self._state_dir, self._folder / root)
        other._seen, other._lock = self._seen, self._lock
        return other

    @property
    def folder_of_file(self) -> Path:
        return self._folder

    def path(self, path: str) -> Path:
        whole, fence = self._place(path)
        return self._inside(path, whole, fence, whole)

    def _place(self, path: str) -> tuple[Path, Path]:
        """The path as it is written, and the folder it must stay in."""
        parts = PurePosixPath(path).parts
        if parts[:1] == (".forge",):
            return self._state_dir.joinpath(*parts[1:]), self._state_dir
        return self._folder / path, self._fence

    def _inside(self, path: str, whole: Path, fence: Path, checked: Path) -> Path:
        """*whole*, if *checked* lies inside once links are followed. Raises OperationFailed FG0731."""
        try:
            inside = checked.resolve().is_relative_to(fence.resolve())
            why = f"it leads out of {fence}"
        except (OSError, ValueError, RuntimeError) as error:
            inside, why = False, str(error)
        if inside:
            return whole
        raise OperationFailed(
            "FG0731",
            f"the path {path!r} is not used",
            why=why,
            hint="keep it below that folder, or name a wider one in spec.root",
            changed=False,
        )

    def read(self, path: str) -> bytes:
        place = self.path(path)
        try:
            self._see(path, place)
            with place.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise self._unreadable(path, error.strerror or str(error)) from None
        if len(data) > MAX_BYTES:
            raise self._unreadable(path, f"it is larger than {MAX_BYTES // 2**20} MiB")
        return data

    def digest(self, path: str) -> str:
        place = self.path(path)
        try:
            self._see(path, place)
            with place.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise self._unreadable(path, error.strerror or str(error)) from None

    def _unreadable(self, path: str, why: str) -> OperationFailed:
        return OperationFailed(
            "FG0732",
            f"cannot read {path!r}",
            why=why,
            hint="check the path in forge.yaml, and what is to make the file",
            changed=False,
        )

    def exists(self, path: str) -> bool:
        try:
            return self.path(path).exists()
        except (OSError, OperationFailed):
            return False

    def folder(self, path: str) -> tuple[str, ...] | None:
        place = self.path(path)
        try:
            self._see(path, place)
            return tuple(sorted(entry.name for entry in place.iterdir()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error.strerror or str(error)) from None

    def _see(self, path: str, place: Path) -> None:
        seen = _as_it_is(path, place)
        with self._lock:
            self._seen.setdefault(path, seen)

    def seen(self) -> tuple[Seen, ...]:
        with self._lock:
            return tuple(self._seen.values())

    def is_current(self, seen: Seen) -> bool:
        return _as_it_is(seen.path, self._place(seen.path)[0]) == seen

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        whole, fence = self._place(path)
        self._inside(path, whole, fence, whole.parent)
        self._written(path, lambda: whole.parent.mkdir(parents=True, exist_ok=True))
        self._written(path, lambda: _replace(whole, data, mode))

    def remove(self, path: str) -> None:
        """Takes a file away, and the folders of the state directory that are empty without it. One that
        is gone is a success."""
        whole, fence = self._place(path)
        self._inside(path, whole, fence, whole.parent)
        self._written(path, lambda: whole.unlink(missing_ok=True))
        for folder in whole.parents:
            if fence != self._state_dir or folder in (fence, *fence.parents, fence / "runtime"):
                return
            try:
                folder.rmdir()
            except OSError:
                return

    def _written(self, path: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except (OSError, ValueError) as error:
            raise OperationFailed(
                "FG0756",
                f"cannot write {path!r}",
                why=getattr(error, "strerror", None) or str(error),
                hint="check that its folder is one, and that it may be written",
                changed=False,
            ) from None


def _as_it_is(path: str, place: Path) -> Seen:
    try:
        status = place.stat()
    except (OSError, ValueError):
        return Seen(path, -1, -1)
    return Seen(path, status.st_mtime_ns, status.st_size)


def _replace(target: Path, data: bytes, mode: int) -> None:
    """Never a half-written file, nor one that is readable for more than it should be, even for a moment."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
