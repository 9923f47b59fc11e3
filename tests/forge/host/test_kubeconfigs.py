"""The user's kubeconfig is replaced whole, under its lock, or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge.errors import OperationFailed
from forge.host.kubeconfigs import change, export, read, users_file

ONE: dict[str, Any] = {"clusters": [{"name": "a", "cluster": {"server": "https://a"}}]}


def put(document: dict[str, Any]) -> Any:
    return lambda _: document


@pytest.mark.parametrize(
    ("listed", "exists", "found"),
    [
        ("", [], ".kube/config"),
        ("one", [], "one"),
        ("one:two", ["two"], "two"),
        ("one:two", ["one", "two"], "one"),
        ("one:two", [], "two"),
        (":one:", ["one"], "one"),
    ],
)
def test_the_file_that_kubectl_would_write(
    tmp_path: Path, listed: str, exists: list[str], found: str
) -> None:
    for name in exists:
        (tmp_path / name).touch()
    value = (
        os.pathsep.join(str(tmp_path / part) if part else "" for part in listed.split(":")) if listed else ""
    )
    assert users_file({"KUBECONFIG": value}, tmp_path) == tmp_path / found


def test_a_new_file_is_its_owners_alone_and_an_old_ones_mode_stays(tmp_path: Path) -> None:
    file = tmp_path / ".kube" / "config"
    change(file, put(ONE))
    assert yaml.safe_load(file.read_text()) == ONE
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    change(file, put({**ONE, "x": 1}))
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in file.parent.iterdir()) == ["config"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("")
    (tmp_path / "config").symlink_to("real")
    change(tmp_path / "config", put(ONE))
    assert (tmp_path / "config").is_symlink()
    assert yaml.safe_load((tmp_path / "real").read_text()) == ONE


def test_what_has_nothing_any_more_is_taken_away(tmp_path: Path) -> None:
    file = tmp_path / "config"
    change(file, put(ONE))
    change(file, put({"clusters": []}))
    assert not file.exists()


def test_an_empty_file_of_a_user_stays(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.touch()
    change(file, put({}))
    assert file.exists()


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    file, lock = tmp_path / "config", tmp_path / "config.lock"
    lock.touch()
    threading.Timer(0.1, lock.unlink).start()
    change(file, put(ONE), wait_s=60)
    assert file.exists()
    assert not lock.exists()


def test_a_stale_lock_is_named_and_left(tmp_path: Path) -> None:
    file, lock = tmp_path / "config", tmp_path / "config.lock"
    lock.touch()
    with pytest.raises(OperationFailed) as raised:
        change(file, put(ONE), wait_s=0)
    assert raised.value.code == "FG0778"
    assert str(lock) in raised.value.why
    assert lock.exists()
    assert not file.exists()


@pytest.mark.parametrize("text", ["{", "- a\n- b\n", "just text", "a: [1"], ids=repr)
def test_rubbish_is_refused_and_left(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(OperationFailed) as raised:
        change(file, put(ONE))
    assert raised.value.code == "FG0786"
    assert file.read_text() == text
    assert not (tmp_path / "config.lock").exists()


def test_a_change_that_raises_leaves_file_and_no_lock(tmp_path: Path) -> None:
    file = tmp_path / "config"
    change(file, put(ONE))

    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise OperationFailed("FG0778", "no")

    with pytest.raises(OperationFailed):
        change(file, refuse)
    assert read(file) == ONE
    assert not (tmp_path / "config.lock").exists()


def test_an_export_is_its_owners_alone_whatever_was_there(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "east"
    export(file, ONE)
    file.chmod(0o644)
    export(file, ONE)
    assert file.stat().st_mode & 0o777 == 0o600
