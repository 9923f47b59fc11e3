"""A command beside a service gives its exit code, and is killed with its group when its time is over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host import beside
from forge.host.beside import Command
from tests.kit.processes import eventually, is_gone


def command(*argv: str, **env: str) -> Command:
    return Command(argv, {"PATH": os.environ["PATH"], **env}, "/")


@pytest.mark.parametrize(
    ("argv", "ok", "detail"),
    [
        pytest.param(("true",), True, "exit code 0", id="a success passes"),
        pytest.param(("sh", "-c", "exit 3"), False, "exit code 3", id="a failure"),
        pytest.param(("sh", "-c", "kill -9 $$"), False, "exit code 137", id="a signal"),
    ],
)
def test_a_check_is_judged_by_its_exit_code(argv: tuple[str, ...], ok: bool, detail: str) -> None:
    result = beside.probe(command(*argv), 60)
    assert (result.ok, result.detail) == (ok, detail)


def test_a_check_without_a_program_is_an_answer() -> None:
    result = beside.probe(command("nothing-there"), 60)
    assert not result.ok
    assert "nothing-there" in result.detail


def test_a_check_that_does_not_end_is_killed_with_its_group(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/pid; sleep 600"
    result = beside.probe(command("sh", "-c", script), 2)
    assert (result.ok, result.detail) == (False, "no end within 2 s")
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: is_gone(pid))


def test_on_a_terminal_it_has_its_environment_and_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert beside.on_terminal(command("sh", "-c", "echo $COLOUR; exit 4", COLOUR="green")) == 4
    assert capfd.readouterr().out == "green\n"
    assert beside.on_terminal(command("sh", "-c", "kill -15 $$")) == 143


def test_what_cannot_start_is_refused() -> None:
    with pytest.raises(OperationFailed, match="FG0503"):
        beside.on_terminal(command("nothing-there"))


def test_a_repr_shows_no_environment() -> None:
    assert "hunter2" not in repr(command("true", TOKEN="hunter2"))
