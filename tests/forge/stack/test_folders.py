"""Folders are walked to the bottom in the order of their paths, and never without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host.files import LabFiles
from forge.stack import folders


@pytest.fixture
def files(tmp_path: Path) -> LabFiles:
    for name in (
        "b.yaml",
        "a/z.yml",
        "a/b/c.json",
        "kustomization.yaml",
        "a/.hidden.yaml",
        "README.md",
        "c.yaml",
    ):
        target = tmp_path / "base" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    (tmp_path / "empty").mkdir()
    return LabFiles(tmp_path, tmp_path / "state")


def test_manifests_of_a_folder(files: LabFiles) -> None:
    assert folders.manifests("base", files) == (
        "base/a/b/c.json",
        "base/a/z.yml",
        "base/b.yaml",
        "base/c.yaml",
    )
    assert folders.manifests("base/README.md", files) == ("base/README.md",), "a file is taken at its word"
    assert folders.manifests("none.yaml", files) == ("none.yaml",), "reading it says that it is not there"


def test_everything_in_a_folder(files: LabFiles) -> None:
    assert len(folders.everything("base", files)) == 7


def test_a_folder_without_manifests_is_refused(files: LabFiles) -> None:
    with pytest.raises(OperationFailed, match="FG0734"):
        folders.manifests("empty", files)


def test_a_link_that_leads_round_ends(files: LabFiles, tmp_path: Path) -> None:
    (tmp_path / "empty" / "round").symlink_to(tmp_path / "empty")
    with pytest.raises(OperationFailed, match="inside each other"):
        folders.everything("empty", files)


def test_a_tree_that_is_too_large_is_refused(files: LabFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FILES", 3)
    with pytest.raises(OperationFailed, match="more than 3 files"):
        folders.everything("base", files)
