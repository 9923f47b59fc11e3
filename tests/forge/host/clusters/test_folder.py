"""What is kept of a cluster is private, whole or not at all, and goes with it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from forge.host.clusters.folder import About, Folder, known
from forge.plan.lab_resources import Driver

ABOUT = About(Driver.KIND, "forge-east", "lab", "0" * 32, "f" * 32, port=6443)


def test_what_is_written_is_read_again_and_nobody_elses(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "east")
    assert folder.about() is None
    for about in (ABOUT, replace(ABOUT, made=True, id="uid")):
        folder.write(about)
        assert folder.about() == about
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.path.iterdir()} == {"about.json": 0o600}
    assert list(known(tmp_path)) == ["east"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"driver": "kind"}', '{"driver": "else", "full_name": "x"}', '{"more": 1}'],
)
def test_what_cannot_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    folder = Folder(tmp_path, "east")
    folder.write_file("about.json", text.encode())
    assert folder.about() is None


def test_the_last_one_takes_the_folder_of_all_along(tmp_path: Path) -> None:
    east, west = Folder(tmp_path, "east"), Folder(tmp_path, "west")
    east.write(ABOUT)
    west.write(ABOUT)
    east.remove()
    east.remove()
    assert list(known(tmp_path)) == ["west"]
    west.remove()
    assert list(tmp_path.iterdir()) == []


def test_one_is_made_while_others_go(tmp_path: Path) -> None:
    def turn(name: str) -> None:
        for _ in range(100):
            Folder(tmp_path, name).write(ABOUT)
            Folder(tmp_path, name).remove()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(turn, "abcd"))
    assert list(known(tmp_path)) == []
