"""The exit code says what went wrong, also where two things did."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.state.lock import locked
from tests.kit.praxis_forge import Forge

FILE = (
    "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: codes}\n"
    "spec:\n  runtime: {provider: embedded}\n  images: [{name: 'app:1', process: []}]\n"
    "  services: [{name: one, image: 'app:1', args: [sleep, '600']}]\n"
)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forge]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "forge.yaml").write_text(FILE)
    forge = Forge(tmp_path)
    yield forge
    forge("down", check=None)


def test_status_of_a_broken_file_shows_what_runs_and_says_that_the_file_is_not_followed(lab: Forge) -> None:
    lab("up")
    (lab.folder / "forge.yaml").write_text(FILE.replace("image: 'app:1'", "imgae: 'app:1'"))
    shown = lab("status", check=2)
    assert "imgae" in shown.stderr
    assert "running" in shown.stdout
    assert "All is as" not in shown.stdout
    assert not lab.data("status", check=2)["ok"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_waiting_for_the_lock_is_told_as_one(lab: Forge, number: signal.Signals) -> None:
    holding = locked(lab.folder / ".forge", "codes", "another", timeout_s=0, on_wait=lambda _: None)
    with holding, lab.running("up") as process:
        assert process.stderr is not None
        while "waiting for the lock" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        assert process.wait(30) == 128 + number
