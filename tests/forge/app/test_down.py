"""`down` leaves in the state directory what Forge did not put there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge.app import down as down_case
from forge.app import up as up_case
from tests.kit.labs import FakeLab, file


def test_what_others_keep_in_the_state_directory_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    fake = FakeLab(tmp_path / "lab")
    fake.write(file("name: web, args: [serve]"))
    lab = replace(fake.lab, state_dir=fake.folder)
    others = {
        ".gitignore": "*.pyc\n",
        "secrets/key": "k",
        "cache/x": "c",
        "evidence/photo.png": "p",
        "runtime/mine/tls.key": "t",
    }
    for name, text in others.items():
        (fake.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (fake.folder / name).write_text(text)
    up_case.up(lab, fake.listener, fake.cancel, fake.request)
    (fake.folder / "runtime" / "web").mkdir()
    (fake.folder / "runtime" / "web" / "data").write_text("made while it was up")
    down_case.down(lab, fake.listener, fake.cancel, request=fake.request)
    left = {str(p.relative_to(fake.folder)): p.read_text() for p in fake.folder.rglob("*") if p.is_file()}
    left.pop("forge.yaml")
    assert left == others


def test_nothing_is_left_of_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    fake = FakeLab(tmp_path / "lab")
    fake.write(file("name: web, args: [serve]"))
    fake.up()
    fake.down()
    assert [p.name for p in fake.folder.iterdir()] == ["forge.yaml"]
