"""Puts the files of a volume on disk so that readers see all of a change or nothing of it.

    <volume>/..2026_06_01_12_00_00.7f3a     the files of one moment
    <volume>/..data -> ..2026_…             swapped by one rename
    <volume>/tls.crt -> ..data/tls.crt      what programs open

As a kubelet does it: a watcher of `..data` sees one event for each change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from forge.embedded.node.volumes import File

_LINK = "..data"


def project(volume: Path, files: Mapping[str, File], stamp: str) -> bool:
    """Makes the volume hold these files; False when it did so before. stamp: tells this moment from
    every other in the name of its folder. Raises OSError."""
    volume.mkdir(parents=True, exist_ok=True)
    wanted = {_inside(path): file for path, file in files.items()}
    link = volume / _LINK
    old = volume / link.readlink() if link.is_symlink() else None
    if old is not None and _held(old) == wanted:
        return False
    fresh = volume / f"..{stamp}"
    _write(fresh, wanted)
    swap = volume / "..data_tmp"
    swap.unlink(missing_ok=True)
    swap.symlink_to(fresh.name)
    swap.rename(link)
    _name(volume, {PurePosixPath(path).parts[0] for path in wanted})
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _inside(path: str) -> str:
    parts = [part for part in PurePosixPath("/" + path).parts[1:] if part not in ("..", ".")]
    return "/".join(parts)


def _held(folder: Path) -> dict[str, File]:
    files = {}
    for place in folder.rglob("*"):
        if place.is_file():
            mode = place.stat().st_mode & 0o7777
            files[str(place.relative_to(folder))] = File(place.read_bytes(), mode)
    return files


def _write(folder: Path, files: Mapping[str, File]) -> None:
    folder.mkdir()
    for path, file in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(file.content)
        place.chmod(file.mode)


def _name(volume: Path, names: set[str]) -> None:
    """Links for what is there, none for what went."""
    for place in volume.iterdir():
        if place.is_symlink() and not place.name.startswith("..") and place.name not in names:
            place.unlink()
    for name in names:
        if not (volume / name).is_symlink():
            (volume / name).symlink_to(f"{_LINK}/{name}")
