"""What answers at once imports next to nothing, and what the shortcut prints is what the command would."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import forge
from forge.cli.main import COMMANDS
from tests.kit.praxis_forge import Forge

LISTED = """
import atexit, json, sys
atexit.register(lambda: sys.stderr.write("\\nMODULES " + json.dumps(sorted(sys.modules))))
sys.argv = ["praxis-forge", *sys.argv[1:]]
from forge.__main__ import main
main()
"""

HEAVY = {
    "pydantic",
    "yaml",
    "rich",
    "httpx",
    "kubernetes",
    "textual",
    "python_on_whales",
    "asyncio",
    "aiohttp",
}


def modules(folder: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *arguments],
        cwd=folder,
        env=Forge(folder, {"XDG_STATE_HOME": str(folder / "xdg")}).environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.rpartition("MODULES ")[2]))


def test_the_help_file_is_what_the_command_line_prints() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", "import sys; from forge.cli.main import run; sys.exit(run(['--help']))"],
        capture_output=True,
        text=True,
        check=True,
        env={**Forge(Path()).environ, "COLUMNS": "80"},
    ).stdout
    assert (Path(forge.__file__).parent / "cli" / "help.txt").read_text() == printed


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], []])
def test_the_two_first_questions_load_nothing(tmp_path: Path, arguments: list[str]) -> None:
    loaded = modules(tmp_path, *arguments)
    assert not loaded & (HEAVY | {"click"})


def test_an_up_without_changes_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "forge.yaml").write_text(
        "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: startup}\n"
        "spec:\n  runtime: {provider: embedded}\n  images: [{name: 'app:1', process: []}]\n"
        "  services: [{name: idle, image: 'app:1', args: [sleep, '600']}]\n"
    )
    command = Forge(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "xdg")})
    command("up")
    try:
        assert not modules(tmp_path, "up") & HEAVY
        assert not modules(tmp_path, "service", "list") & HEAVY
    finally:
        command("down")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_says_more_than_its_line(name: str, tmp_path: Path) -> None:
    text = Forge(tmp_path)(name, "--help").stdout
    assert text.startswith(f"Usage: praxis-forge {name}")
    assert len(text.splitlines()) > 4


def test_a_command_that_does_not_exist_is_guessed(tmp_path: Path) -> None:
    done = Forge(tmp_path)("stauts", check=2)
    assert "Did you mean status?" in done.stderr


def test_an_option_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    assert "--parallel" in Forge(tmp_path)("up", "--paralel", "3", check=2).stderr
