"""Environments are found again from anywhere, and told from those whose folder is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forge.app import environments as use_case
from forge.plan.environments import EnvironmentLine, Standing, unknown
from forge.plan.values import Owner
from forge.state import registry
from tests.kit.labs import FakeLab, file


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment of this machine's user, and no engine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine")


def lab(folder: Path, name: str) -> FakeLab:
    fake = FakeLab(folder)
    fake.write(file("name: web, args: [serve]", name=name))
    fake.up()
    return fake


def found() -> list[tuple[str, Standing, int | None]]:
    return [(e.owner.environment, e.standing, e.resources) for e in use_case.environments(print)]


def test_what_is_up_is_listed_and_what_is_down_is_not(tmp_path: Path) -> None:
    one, two = lab(tmp_path / "one", "one"), lab(tmp_path / "two", "two")
    assert found() == [("one", Standing.UP, 2), ("two", Standing.UP, 2)]
    line = use_case.environments(print)[0]
    assert (line.state_dir, line.runtime, line.last) == (str(one.folder / ".forge"), "docker", "up done")
    two.down()
    assert found() == [("one", Standing.UP, 2)]
    one.down()
    assert found() == []
    assert not (tmp_path / "xdg" / "praxis-forge" / "environments").exists()


def test_one_whose_folder_is_gone_is_an_orphan_until_it_is_collected(tmp_path: Path) -> None:
    lab(tmp_path / "one", "one")
    lab(tmp_path / "two", "two")
    shutil.rmtree(tmp_path / "one" / ".forge")
    assert found() == [("one", Standing.ORPHAN, None), ("two", Standing.UP, 2)]
    assert [line.owner.environment for line, _ in use_case.collect(print, dry_run=True)] == ["one"]
    assert len(found()) == 2
    assert [line.owner.environment for line, _ in use_case.collect(print)] == ["one"]
    assert found() == [("two", Standing.UP, 2)]
    assert use_case.collect(print) == ()


def test_another_environment_in_its_folder_makes_an_orphan_of_it(tmp_path: Path) -> None:
    first = lab(tmp_path / "one", "one")
    shutil.rmtree(tmp_path / "one" / ".forge")
    first.machine.containers.clear()
    first.machine.networks.clear()
    first.up()
    assert sorted(standing for _, standing, _ in found()) == [Standing.ORPHAN, Standing.UP]


def test_one_whose_state_is_damaged_is_no_orphan(tmp_path: Path) -> None:
    fake = lab(tmp_path / "one", "one")
    (fake.folder / ".forge" / "state.json").write_text("{")
    assert found() == [("one", Standing.UP, None)]
    assert use_case.collect(print) == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"environment": 1}', '{"x": "y"}'], ids=repr)
def test_a_note_that_cannot_be_read_is_left_out(tmp_path: Path, text: str) -> None:
    lab(tmp_path / "one", "one")
    (tmp_path / "xdg" / "praxis-forge" / "environments" / "rubbish.json").write_text(text)
    assert [entry.environment for entry in registry.entries()] == ["one"]


def test_what_only_the_engine_knows_is_told_apart() -> None:
    known = Owner("mine", "1")
    lines = {"1": EnvironmentLine(known, Standing.UP)}
    engine = {Owner("z", "3"): 2, known: 5, Owner("a", "2"): 1}
    assert [(e.owner.environment, e.standing, e.on_engine) for e in unknown(lines, engine)] == [
        ("a", Standing.UNKNOWN, 1),
        ("z", Standing.UNKNOWN, 2),
    ]
