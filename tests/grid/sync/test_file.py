"""A replacement is whole or not at all, and leaves nothing beside the file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from grid.contract.strict_json import MAX_BYTES
from grid.sync import file


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "made" / "grid-config.json"
    assert file.read(path) is None
    file.replace(path, b"one")
    file.replace(path, b"two")
    assert file.read(path) == b"two"
    assert [each.name for each in path.parent.iterdir()] == ["grid-config.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_what_cannot_be_written_leaves_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "grid-config.json"
    path.mkdir()
    with pytest.raises(OSError):  # noqa: PT011 (any OSError is the contract)
        file.replace(path, b"one")
    assert [each.name for each in tmp_path.iterdir()] == ["grid-config.json"]


def test_a_large_file_is_read_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (MAX_BYTES + 100))
    assert len(file.read(path) or b"") == MAX_BYTES + 1


def test_a_reader_never_sees_a_part(tmp_path: Path) -> None:
    path = tmp_path / "grid-config.json"
    file.replace(path, b"a" * 100_000)
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(40):
            file.replace(path, bytes([97 + number % 26]) * 100_000)
    finally:
        done.set()
        reader.join()
    assert all(len(each) == 100_000 and len(set(each)) == 1 for each in seen)


def test_a_replacement_is_on_the_disk_before_it_has_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File, then name, then folder: the order of the calls is what survives a power cut."""
    order: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def flushed(descriptor: int) -> None:
        order.append("flush")
        fsync(descriptor)

    def renamed(self: Path, to: Path) -> Path:
        order.append("rename")
        return rename(self, to)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "rename", renamed)
    file.replace(tmp_path / "x", b"one")
    assert order == ["flush", "rename", "flush"]
