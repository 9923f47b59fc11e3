"""What checks may ask about files beside forge.yaml, and the reader that answers from the disk."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

MAX_TEMPLATE_BYTES = 1024 * 1024
"""Largest template that is read."""


class Found(StrEnum):
    """FILE and DIRECTORY follow symlinks. OUTSIDE: it leads out of spec.root."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"
    OUTSIDE = "outside"


class Files(Protocol):
    """Files by their path in forge.yaml, relative to its folder. root: spec.root."""

    def find(self, path: str, root: str) -> Found: ...

    def read(self, path: str, root: str) -> str | None:
        """The text of a file; None when it is not there, not UTF-8, too large or outside root."""
        ...


@dataclass(frozen=True, slots=True)
class NoFiles:
    """Sees everything as present and reads nothing: for text that came without a folder."""

    def find(self, path: str, root: str) -> Found:  # noqa: ARG002 - the port's shape
        return Found.FILE

    def read(self, path: str, root: str) -> str | None:  # noqa: ARG002 - the port's shape
        return None


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files round one forge.yaml. folder: where it stands."""

    folder: Path

    def find(self, path: str, root: str) -> Found:
        target = self._inside(path, root)
        if target is None:
            return Found.OUTSIDE
        try:
            return Found.DIRECTORY if target.is_dir() else Found.FILE if target.exists() else Found.MISSING
        except OSError:
            return Found.MISSING

    def read(self, path: str, root: str) -> str | None:
        target = self._inside(path, root)
        if target is None:
            return None
        try:
            if not target.is_file() or target.stat().st_size > MAX_TEMPLATE_BYTES:
                return None
            return target.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def _inside(self, path: str, root: str) -> Path | None:
        """The path with symlinks resolved; None where it leaves the root or cannot be resolved."""
        try:
            fence = (self.folder / root).resolve()
            target = (self.folder / path).resolve()
        except (OSError, ValueError, RuntimeError):
            return None
        return target if target.is_relative_to(fence) else None


def leaves(path: str, root: str) -> bool:
    """Whether a relative path climbs above root, by its words alone. root: `.`, `..`, `../..`."""
    return _ups(path) > _ups(root)


def _ups(path: str) -> int:
    parts = posixpath.normpath(path).split("/")
    return next((i for i, part in enumerate(parts) if part != ".."), len(parts))
