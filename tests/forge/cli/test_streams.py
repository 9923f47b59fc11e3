"""A reader that goes away, a full disk, streams that are closed: the work is done, and what is lost is said."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.praxis_forge import Forge

FILE = (
    "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: streams}\n"
    "spec:\n  runtime: {provider: embedded}\n  images: [{name: 'app:1', process: []}]\n"
    "  services:\n"
    "    - {name: one, image: 'app:1', args: [sh, -c, 'while :; do echo line; sleep 0.01; done']}\n"
    "    - {name: two, image: 'app:1', args: [sleep, '600'], dependsOn: [one]}\n"
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Forge]:
    (tmp_path / "forge.yaml").write_text(FILE)
    forge = Forge(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "xdg")})
    yield forge
    forge("down", check=None)


def shell(lab: Forge, line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, `forge` being the command. The exit code is the command's own."""
    command = shlex.join([sys.executable, "-m", "forge"])
    script = f'forge() {{ {command} "$@"; }}\n{line}\nexit ${{PIPESTATUS[0]}}'
    return subprocess.run(
        ["bash", "-c", script], cwd=lab.folder, env=lab.environ, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip


def wait_for(lab: Forge, words: str) -> None:
    """Until the state says so."""
    state, deadline = lab.folder / ".forge" / "state.json", time.monotonic() + 30
    while not (state.exists() and words in state.read_text()):
        assert time.monotonic() < deadline, words
        time.sleep(0.01)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("forge up 2>&1 | head -1", id="the reader of both leaves"),
        pytest.param("forge up 2>/dev/full >/dev/full", id="both are full"),
        pytest.param("forge up >&- 2>&- <&-", id="all are closed"),
    ],
)
def test_a_run_goes_on_to_its_end_whoever_listens(lab: Forge, line: str) -> None:
    shell(lab, line)
    state = json.loads((lab.folder / ".forge" / "state.json").read_text())
    assert state["lastOperation"]["outcome"] == "done"
    assert lab("status").stdout.count("running") == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("forge up 2>&1 | head -1", 0, id="the reader of a run leaves"),
        pytest.param("forge config schema | head -c 1", 0, id="the reader of a result leaves"),
        pytest.param("forge explain | true", 0, id="nobody reads at all"),
        pytest.param("forge status >&-", 0, id="no standard output"),
        pytest.param("forge plan 2>&-", 0, id="no standard error"),
        pytest.param("forge --version >&-", 0, id="no standard output for the version"),
        pytest.param("forge status >/dev/full", 1, id="a full disk behind the result"),
        pytest.param("forge status -o json >/dev/full", 1, id="a full disk behind JSON"),
    ],
)
def test_the_exit_code_is_the_commands_own_and_nothing_is_a_traceback(
    lab: Forge, line: str, code: int
) -> None:
    done = shell(lab, line)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert ("error[FG0418]" in done.stderr) == (code == 1)
    assert ("No space left on device" in done.stderr) == (code == 1)


def test_logs_that_are_followed_end_when_nobody_reads_them(lab: Forge) -> None:
    lab("up")
    assert shell(lab, "forge service logs --follow one | head -1").returncode == 0


def test_a_terminal_that_is_closed_stops_a_run_cleanly(lab: Forge) -> None:
    (lab.folder / "forge.yaml").write_text(
        FILE + "    - {name: slow, image: 'app:1', args: [sleep, '600'], healthCheck: {type: exec, command: ['false'], interval: 1s, retries: 90}}\n"
    )  # fmt: skip
    with lab.running("up") as process:
        wait_for(lab, "slow")
        process.send_signal(signal.SIGHUP)
        assert process.wait(30) == 128 + signal.SIGHUP
    state = json.loads((lab.folder / ".forge" / "state.json").read_text())
    assert state["lastOperation"]["outcome"] == "interrupted"


def test_under_nohup_a_closed_terminal_stops_nothing(lab: Forge) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-m", "forge", "up"], cwd=lab.folder, env=lab.environ, preexec_fn=ignore,  # noqa: PLW1509 - before exec, as nohup does it
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lab, "lastOperation")
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(60) == 0
