"""The service verbs stop nothing that they could not start again, and hear a signal while they wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forge.app import services
from forge.errors import ForgeError, LockHeld
from tests.kit.labs import FakeLab, file


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    lab = FakeLab(tmp_path / "lab")
    lab.write(file("name: db, args: [serve]", "name: web, args: [serve]"))
    lab.up()
    return lab


def restart(lab: FakeLab, *names: str) -> None:
    services.restart(lab.lab, names, lab.listener, lab.cancel, lab.request)


def test_restart_makes_a_new_run_of_the_named_service(lab: FakeLab) -> None:
    restart(lab, "web")
    assert lab.running() == {"db", "web"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("spec: [", id="the file cannot be read"),
        pytest.param(file("name: db, args: [serve]"), id="the service is no longer in the file"),
        pytest.param(file("name: db, args: [serve]", name="other"), id="the file is of another environment"),
    ],
)
def test_restart_stops_nothing_that_it_cannot_start_again(lab: FakeLab, text: str) -> None:
    lab.write(text)
    with pytest.raises(ForgeError) as caught:
        restart(lab, "web")
    assert caught.value.exit_code == 2
    assert lab.running() == {"db", "web"}


def test_a_cancelled_restart_does_not_wait_for_the_lock(lab: FakeLab) -> None:
    lab.cancel.set()
    with lab.lab.locked("lab", "another command", lambda _: None):
        patient = replace(lab.lab, options=replace(lab.lab.options, lock_timeout_s=60.0))
        with pytest.raises(LockHeld):
            services.restart(patient, ["web"], lab.listener, lab.cancel, lab.request)
    assert lab.running() == {"db", "web"}
