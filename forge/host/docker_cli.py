"""The docker command: only for what it does better than the engine's API.

    exec       a terminal: raw mode, window size, signals, its exit code
    pull       from a registry that wants a login: credential helpers are the command's own

The pull goes through python-on-whales, whose import takes 0.3 s: it is imported where it is used
and nowhere else. exec does not, since python-on-whales offers stdin only together with a terminal.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection
from pathlib import Path

from forge.errors import ToolMissing
from forge.plan.ports import Cancel, Progress

_TICK_S = 0.1


def knows_a_login() -> bool:
    """Whether the docker command is logged in anywhere, so that it may succeed where we did not."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and any(config.get(n) for n in ("auths", "credsStore", "credHelpers"))


def pull(socket_path: str, reference: str, progress: Progress, cancel: Cancel) -> str:
    """Pulls with the docker command's credentials. Gives what went wrong, empty for nothing.

    When cancel is set it is no longer waited for; the command itself may go on for a while, and what
    it pulls is kept.
    """
    ended: list[str] = []
    program = _program()
    progress("pulling with the docker command's login")
    pulling = threading.Thread(
        target=lambda: ended.append(_pull(program, socket_path, reference)), name=reference, daemon=True
    )
    pulling.start()
    while pulling.is_alive() and not cancel.is_set():
        pulling.join(_TICK_S)
    return ended[0] if ended else "it was not waited for"


def _pull(program: str, socket_path: str, reference: str) -> str:
    from python_on_whales import DockerClient
    from python_on_whales.exceptions import DockerException

    client = DockerClient(host=f"unix://{socket_path}", client_call=[program])
    try:
        client.image.pull(reference, quiet=True)
    except DockerException as error:
        return (error.stderr or str(error)).strip().splitlines()[-1]
    return ""


def execute(socket_path: str, container: str, command: Collection[str], *, tty: bool) -> int:
    """Runs command in the container on this terminal; gives its exit code."""
    import subprocess

    flags = ["--interactive", *(["--tty"] if tty else [])]
    argv = [_program(), "--host", f"unix://{socket_path}", "exec", *flags, container, *command]
    return subprocess.run(argv, check=False).returncode


def _program() -> str:
    import shutil

    found = shutil.which("docker")
    if found is None:
        raise ToolMissing(
            "FG0309",
            "the docker command is missing",
            why="Forge opens terminals and logs in to registries with it",
            hint="install the docker command line client",
            changed=False,
        )
    return found
