"""One command at a time: a waiter learns who holds the lock, gives up in time, and a crash frees it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forge.errors import LockHeld
from forge.state.lock import host_directory, locked, sweep

HOLD = """
import sys
from pathlib import Path
from forge.state.lock import locked
with locked(Path(sys.argv[1]), "lab", "praxis-forge up", timeout_s=5, on_wait=print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_host_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))


@contextmanager
def holder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("where", ["same", "other"])
def test_a_second_command_names_the_first_and_gives_up(tmp_path: Path, where: str) -> None:
    """Whether it works in the same state directory, or in another checkout of the same name."""
    told: list[str] = []
    with (
        holder(tmp_path / "same") as process,
        pytest.raises(LockHeld) as raised,
        locked(tmp_path / where, "lab", "praxis-forge down", timeout_s=0.2, on_wait=told.append),
    ):
        pytest.fail("two commands hold one lock")
    assert raised.value.exit_code == 5
    assert f"process {process.pid} (praxis-forge up" in raised.value.why
    assert len(told) == 1


def test_environments_of_other_names_are_not_in_the_way(tmp_path: Path) -> None:
    with holder(tmp_path / "a"), locked(tmp_path / "b", "another", "up", timeout_s=0, on_wait=pytest.fail):
        pass


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path / "a") as process:
        process.kill()
        process.wait()
        with locked(tmp_path / "a", "lab", "up", timeout_s=5, on_wait=lambda _: None):
            pass


def test_waiters_get_it_one_after_the_other(tmp_path: Path) -> None:
    """Ten threads, each with descriptors of its own, as ten commands have."""
    inside, most, errors = 0, 0, []
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        try:
            with locked(tmp_path / "a", "lab", "up", timeout_s=30, on_wait=lambda _: None):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, errors) == (1, [])


def test_nothing_is_left_when_it_is_let_go(tmp_path: Path) -> None:
    with locked(tmp_path / "a", "lab", "up", timeout_s=0, on_wait=pytest.fail):
        assert (tmp_path / "a" / "lock").exists()
    assert not (tmp_path / "a").exists()
    assert list((host_directory() / "locks").iterdir()) == []


def test_a_directory_that_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with locked(tmp_path / "a", "lab", "up", timeout_s=0, on_wait=pytest.fail):
        pass
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize(
    ("names", "left"),
    [
        pytest.param((), None, id="an empty one goes"),
        pytest.param(("lock",), None, id="one with the lock of a killed command goes"),
        pytest.param(("lock", "mine"), {"lock", "mine"}, id="one with something else stays as it is"),
    ],
)
def test_sweeping_takes_what_is_forges_alone(
    tmp_path: Path, names: tuple[str, ...], left: set[str] | None
) -> None:
    directory = tmp_path / "a"
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    sweep(directory)
    assert (None if not directory.exists() else {path.name for path in directory.iterdir()}) == left


def test_sweeping_leaves_a_lock_that_is_held(tmp_path: Path) -> None:
    with holder(tmp_path / "a"):
        sweep(tmp_path / "a")
        assert (tmp_path / "a" / "lock").exists()


def test_it_is_held_though_the_disk_takes_no_word_of_who_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    told: list[str] = []
    with (
        locked(tmp_path, "lab", "up", timeout_s=0, on_wait=pytest.fail),
        pytest.raises(LockHeld, match="another process"),
        locked(tmp_path, "lab", "up", timeout_s=0, on_wait=told.append),
    ):
        pytest.fail("two commands hold one lock")


def test_a_cancelled_waiter_stops(tmp_path: Path) -> None:
    with (
        holder(tmp_path / "a"),
        pytest.raises(LockHeld),
        locked(tmp_path / "a", "lab", "up", timeout_s=60, on_wait=lambda _: None, is_cancelled=lambda: True),
    ):
        pytest.fail("two commands hold one lock")
