"""The output file: read bounded, replaced whole. A reader sees the old document or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from grid.contract.strict_json import MAX_BYTES


def read(path: Path) -> bytes | None:
    """The file's bytes, at most one over the bound; None if there is no such file."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None


def replace(path: Path, data: bytes) -> None:
    """Makes *data* the file's content: written beside it, flushed to the disk, renamed, the folder flushed.

    Raises OSError, and then the file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A gateway runs as another user; there is nothing secret in an overlay.
        Path(temporary).chmod(0o644)
        Path(temporary).rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
