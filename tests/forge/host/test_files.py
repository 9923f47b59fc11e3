"""Files of an environment are found, fenced in, replaced whole and remembered as they were."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host.files import LabFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """environments/lab below tmp_path, with a file in each folder."""
    folder = tmp_path / "environments" / "lab"
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text("own")
    (tmp_path / "shared.yaml").write_text("shared")
    (tmp_path / "state").mkdir()
    return folder


@pytest.fixture
def files(folder: Path, tmp_path: Path) -> LabFiles:
    return LabFiles(folder, tmp_path / "state")


def test_paths_are_relative_to_the_file_and_forge_is_the_state(
    files: LabFiles, folder: Path, tmp_path: Path
) -> None:
    assert files.read("own.yaml") == b"own"
    assert files.path(".forge/runtime/x") == tmp_path / "state" / "runtime" / "x"
    assert files.folder_of_file == folder


@pytest.mark.parametrize(
    "path", ["../../shared.yaml", "/etc/passwd", ".forge/../own.yaml", "../lab2/x", "a\x00b"]
)
def test_what_leads_out_is_not_read(files: LabFiles, tmp_path: Path, path: str) -> None:
    with pytest.raises(OperationFailed, match="FG0731"):
        files.read(path)
    with pytest.raises(OperationFailed, match=r"FG0731|FG0756"):
        files.write(path, b"x")
    assert not (tmp_path / "environments" / "lab2").exists()


def test_a_wider_root_reads_further(files: LabFiles) -> None:
    assert files.within("../..").read("../../shared.yaml") == b"shared"
    with pytest.raises(OperationFailed, match="FG0731"):
        files.within("..").read("../../shared.yaml")


def test_a_link_that_leads_out_is_not_followed(files: LabFiles, folder: Path, tmp_path: Path) -> None:
    (folder / "link.yaml").symlink_to(tmp_path / "shared.yaml")
    (folder / "out").symlink_to(tmp_path)
    (folder / "in.yaml").symlink_to("own.yaml")
    (folder / "round").symlink_to("round")
    for path in ("link.yaml", "out/shared.yaml", "round"):
        with pytest.raises(OperationFailed, match=r"FG073[12]"):
            files.read(path)
    with pytest.raises(OperationFailed, match="FG0731"):
        files.write("out/new.yaml", b"x")
    assert files.read("in.yaml") == b"own"
    assert not (tmp_path / "new.yaml").exists()


def test_what_cannot_be_read_is_said(files: LabFiles, folder: Path) -> None:
    with pytest.raises(OperationFailed, match=r"FG0732: cannot read 'none\.yaml': No such file"):
        files.read("none.yaml")
    with pytest.raises(OperationFailed, match="FG0732"):
        files.read(".")
    assert not files.exists("none.yaml")
    assert not files.exists("../../shared.yaml")


def test_a_folder_is_listed_by_name(files: LabFiles, folder: Path) -> None:
    (folder / "b").touch()
    (folder / "a").touch()
    assert files.folder(".") == ("a", "b", "own.yaml")
    assert files.folder("own.yaml") is None
    assert files.folder("none") is None


def test_a_file_is_replaced_whole(files: LabFiles, tmp_path: Path) -> None:
    files.write(".forge/runtime/east/config", b"one", 0o600)
    target = tmp_path / "state" / "runtime" / "east" / "config"
    before = target.stat().st_ino
    files.write(".forge/runtime/east/config", b"two", 0o600)
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.stat().st_ino != before
    assert os.listdir(target.parent) == ["config"]  # noqa: PTH208 - names are enough


def test_a_link_in_place_of_the_target_is_replaced_and_not_followed(
    files: LabFiles, folder: Path, tmp_path: Path
) -> None:
    (folder / "t").symlink_to(tmp_path / "shared.yaml")
    files.write("t", b"new")
    assert (folder / "t").read_bytes() == b"new"
    assert (tmp_path / "shared.yaml").read_text() == "shared"


def test_a_folder_that_is_a_file_is_said(files: LabFiles) -> None:
    with pytest.raises(OperationFailed, match="FG0756"):
        files.write("own.yaml/below", b"x")


def test_removing_leaves_no_empty_folders_of_the_state(files: LabFiles, folder: Path, tmp_path: Path) -> None:
    files.write(".forge/runtime/east/deep/config", b"x")
    files.remove(".forge/runtime/east/deep/config")
    assert os.listdir(tmp_path / "state") == ["runtime"]  # noqa: PTH208 - names are enough
    assert list((tmp_path / "state" / "runtime").iterdir()) == []
    files.remove(".forge/runtime/east/deep/config")
    files.remove("own.yaml")
    assert list(folder.iterdir()) == []


def test_what_was_seen_can_be_told_from_what_is(files: LabFiles, folder: Path) -> None:
    files.read("own.yaml")
    files.within("..").folder(".")
    with pytest.raises(OperationFailed):
        files.read("none.yaml")
    seen = {one.path: one for one in files.seen()}
    assert set(seen) == {"own.yaml", ".", "none.yaml"}
    assert all(files.is_current(one) for one in seen.values())
    (folder / "none.yaml").write_text("new")
    assert not files.is_current(seen["none.yaml"])
    assert not files.is_current(seen["."])
    assert files.is_current(seen["own.yaml"])
    (folder / "own.yaml").write_text("own, and longer")
    assert not files.is_current(seen["own.yaml"])
