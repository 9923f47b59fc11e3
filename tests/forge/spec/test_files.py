"""Files beside forge.yaml are found inside the root, links followed, and read within a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.spec.files import MAX_TEMPLATE_BYTES, FolderFiles, Found, NoFiles, leaves


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """top/lab is the folder; top holds a file, and so does what lies outside of top."""
    lab = tmp_path / "top" / "lab"
    (lab / "sub").mkdir(parents=True)
    (lab / "a.txt").write_text("ü")
    (lab / "latin").write_bytes(b"\xff")
    (tmp_path / "top" / "up.txt").write_text("up")
    (tmp_path / "out.txt").write_text("out")
    (lab / "in-link").symlink_to("a.txt")
    (lab / "up-link").symlink_to("../up.txt")
    (lab / "out-link").symlink_to(tmp_path / "out.txt")
    (lab / "loop").symlink_to("loop")
    (lab / "gone").symlink_to("nothing")
    return lab


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("a.txt", ".", Found.FILE),
        ("sub", ".", Found.DIRECTORY),
        ("sub/../a.txt", ".", Found.FILE),
        ("none", ".", Found.MISSING),
        ("a.txt/x", ".", Found.MISSING),
        ("gone", ".", Found.MISSING),
        ("in-link", ".", Found.FILE),
        ("up-link", ".", Found.OUTSIDE),
        ("up-link", "..", Found.FILE),
        ("../up.txt", "..", Found.FILE),
        ("../up.txt", ".", Found.OUTSIDE),
        ("out-link", "..", Found.OUTSIDE),
        ("loop", ".", Found.OUTSIDE),
        ("a\0b", ".", Found.OUTSIDE),
        ("x" * 5000, ".", Found.MISSING),
    ],
)
def test_what_is_found(path: str, root: str, found: Found, folder: Path) -> None:
    assert FolderFiles(folder).find(path, root) is found


def test_what_is_read(folder: Path) -> None:
    files = FolderFiles(folder)
    assert files.read("a.txt", ".") == "ü"
    assert files.read("up-link", "..") == "up"
    for path in ("up-link", "sub", "none", "latin", "loop"):
        assert files.read(path, ".") is None, path


def test_what_is_too_large_is_not_read(folder: Path) -> None:
    (folder / "big").write_bytes(b"a" * (MAX_TEMPLATE_BYTES + 1))
    assert FolderFiles(folder).read("big", ".") is None


def test_without_a_folder_everything_is_there_and_nothing_is_read() -> None:
    assert NoFiles().find("x", ".") is Found.FILE
    assert NoFiles().read("x", ".") is None


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("a", ".", False), ("a/../b", ".", False), ("..", ".", True), ("a/../../b", ".", True), ("../a", "..", False),
        ("../../a", "..", True), ("../../a", "../..", False), ("./a", "./", False), ("...", ".", False), ("..a/b", ".", False),
        (".forge/../../x", ".", True),
    ],
)  # fmt: skip
def test_a_path_leaves_by_its_words(path: str, root: str, expected: bool) -> None:
    assert leaves(path, root) is expected
