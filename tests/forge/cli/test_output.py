"""JSON is the only thing on stdout, errors have codes and exit codes, a terminal gets a live block."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.praxis_forge import Forge

FILE = (
    "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: output}\n"
    "spec:\n  runtime: {provider: embedded}\n  images: [{name: 'app:1', process: []}]\n"
    "  services:\n"
    "    - {name: one, image: 'app:1', args: [sh, -c, 'echo out; echo err >&2; exec sleep 600']}\n"
    "    - {name: two, image: 'app:1', args: [sleep, '600'], dependsOn: [one]}\n"
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Forge]:
    (tmp_path / "forge.yaml").write_text(FILE)
    forge = Forge(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "xdg")})
    yield forge
    forge("down", check=None)


@pytest.mark.parametrize(
    "words",
    [
        ["plan"],
        ["up"],
        ["up", "--dry-run"],
        ["status"],
        ["doctor"],
        ["config", "validate"],
        ["config", "show"],
        ["service", "list"],
        ["service", "stop", "two"],
        ["service", "start", "two"],
        ["evidence", "mark"],
        ["evidence", "diff"],
        ["explain"],
        ["down"],
    ],
    ids=" ".join,
)
def test_json_alone_on_stdout(lab: Forge, words: list[str]) -> None:
    if words[0] in ("service", "evidence"):
        lab("up")
        lab("evidence", "mark")
    document = json.loads(lab(*words, "-o", "json", check=None).stdout)
    assert (document["apiVersion"], document["kind"]) == ("forge.praxis.dev/output/v1alpha1", "CommandResult")
    assert document["status"] == "Success"


@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after the command"])
def test_global_flags_stand_on_either_side(lab: Forge, before: bool) -> None:
    flags = ["-c", str(lab.folder / "forge.yaml"), "-o", "json"]
    words = [*flags, "plan"] if before else ["plan", *flags]
    assert json.loads(lab(*words).stdout)["data"]["counts"]["create"] == 3


def test_every_flag_has_a_variable(lab: Forge) -> None:
    elsewhere = Forge(
        Path("/"), {**lab.env, "FORGE_CONFIG": str(lab.folder / "forge.yaml"), "FORGE_OUTPUT": "json"}
    )
    assert json.loads(_with_forge_variables(elsewhere, "plan"))["data"]["environment"] == "output"


def _with_forge_variables(forge: Forge, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "forge", *words],
        cwd=forge.folder,
        env=forge.environ,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_an_error_in_json_has_its_code_and_nothing_else_on_stdout(lab: Forge) -> None:
    document = json.loads(lab("service", "logs", "-o", "json", check=2).stdout)
    assert document["status"] == "Error"
    assert document["data"]["code"] == "FG0401"


def test_every_problem_of_the_file_is_in_the_json(lab: Forge) -> None:
    (lab.folder / "forge.yaml").write_text(
        FILE.replace("image: 'app:1', args: [sleep", "imgae: x, args: [sleep").replace(
            "dependsOn: [one]", "dependsOn: [oen]"
        )
    )
    document = json.loads(lab("config", "validate", "-o", "json", check=2).stdout)
    places = {(p["code"], p["line"]) for p in document["data"]["problems"]}
    assert {line for _, line in places} == {9}
    assert len(places) >= 2


def test_the_dry_runs_touch_nothing(lab: Forge) -> None:
    assert "3 to create" in lab("up", "--dry-run").stdout
    assert not (lab.folder / ".forge").exists()
    lab("up")
    assert "3 to remove" in lab("down", "--dry-run").stdout
    assert lab.data("status")["ok"]


def test_progress_goes_to_stderr_a_timestamped_line_a_transition(lab: Forge) -> None:
    done = lab("up")
    lines = done.stderr.splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d \w+/\w+ ", line) for line in lines), lines
    assert "critical path: network/lab -> service/one -> service/two" in done.stdout


def test_colour_follows_the_variables(lab: Forge) -> None:
    assert "\033[" not in lab("plan").stdout
    forced = Forge(lab.folder, {**lab.env, "NO_COLOR": "", "FORCE_COLOR": "1"})
    assert "\033[32m" in forced("plan").stdout


def test_a_terminal_gets_a_live_block(lab: Forge) -> None:
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "forge", "up"],
        cwd=lab.folder,
        env={**lab.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""},
        stdout=subprocess.DEVNULL,
        stderr=child,
    )
    os.close(child)
    guard = threading.Timer(40, process.kill)
    guard.start()
    shown = b""
    while chunk := _read(parent):
        shown += chunk
    assert process.wait(30) == 0
    guard.cancel()
    os.close(parent)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    last = text.rpartition("network/lab")[2]
    assert "service/two" in last
    assert "✓" in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side of a terminal is gone
        return b""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--tail", "1"], "one | err\n", id="the last line of each"),
        pytest.param(["one", "--no-prefix"], "out\nerr\n", id="without the service"),
        pytest.param(["--since", "1h", "one"], "one | out\none | err\n", id="of the last hour"),
        pytest.param(["--since", "2100-01-01T00:00:00Z"], "", id="of the future"),
    ],
)
def test_logs(lab: Forge, words: list[str], expected: str) -> None:
    lab("up")
    assert lab("service", "logs", *words).stdout == expected


def test_logs_with_times(lab: Forge) -> None:
    lab("up")
    line = lab("service", "logs", "one", "--timestamps", "--tail", "1").stdout
    assert re.fullmatch(r"one \| \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z err\n", line)


def test_a_since_that_cannot_be_read_says_what_can(lab: Forge) -> None:
    lab("up")
    assert "10s, 5m, 2h" in lab("service", "logs", "--since", "yesterday", check=2).stderr


def test_init_writes_a_file_that_comes_up(tmp_path: Path) -> None:
    forge = Forge(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "xdg"), "FORGE_RUNTIME": "embedded"})
    forge("config", "init")
    assert "exists already" in forge("config", "init", check=2).stderr
    forge("config", "validate")
    assert "to create" in forge("plan", "--runtime", "embedded").stdout
    schema = json.loads(forge("config", "schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_explain_prints_the_page_of_a_code(tmp_path: Path) -> None:
    forge = Forge(tmp_path)
    assert forge("explain", "fg0204").stdout.startswith("# FG0204: another command works")
    assert "FG0204" in forge("explain").stdout
    assert forge("explain", "FG9999", check=2).stderr.startswith("error[FG0413]")


def test_a_reader_that_went_away_is_no_error(lab: Forge) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "forge", "explain"],
        env=lab.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(20)
