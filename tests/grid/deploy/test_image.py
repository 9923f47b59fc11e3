"""The one image is built for real, without a network, and every entry point runs in it as nobody."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from forge.host.engine import Engine
from tests.kit import wheelhouse
from tests.kit.docker_engine import new_name
from tests.kit.images import PREFIX
from tests.kit.praxis_image import base

pytestmark = pytest.mark.docker
CONTAINERFILE = Path(__file__).parents[3] / "grid" / "deploy" / "Containerfile"
COMMANDS = ("grid-operator", "grid-overlay-sync", "praxis-edge", "praxis-sim", "praxis-forge")


def docker(engine: Engine, *words: str) -> str:
    done = subprocess.run(
        ["docker", "--host", f"unix://{engine.socket_path}", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


@pytest.fixture(scope="module")
def image(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    context = tmp_path_factory.mktemp("image")
    wheelhouse.make(context / "wheelhouse")
    name = new_name()
    base(docker_engine, f"{name}:base")
    docker(
        docker_engine,
        *("build", "-f", str(CONTAINERFILE), "--network", "none"),
        *("--build-arg", f"BASE={name}:base", "-t", f"{name}:dev", str(context)),
    )
    return f"{name}:dev"


@pytest.fixture(scope="module")
def docker_engine(docker: Engine) -> Engine:
    return docker


@pytest.mark.parametrize("command", COMMANDS)
def test_every_entry_point_is_there_and_runs_as_nobody(
    docker_engine: Engine, image: str, command: str
) -> None:
    said = docker(docker_engine, "run", "--rm", "--network", "none", "--read-only", image, command, "--help")
    assert command in said


def test_nothing_runs_as_root(docker_engine: Engine, image: str) -> None:
    shown = docker_engine.get(f"/images/{image}/json")["Config"]
    assert (shown["User"], shown["Cmd"], shown.get("Entrypoint")) == (
        "65532:65532",
        ["grid-operator", "--help"],
        None,
    )


def test_no_wheel_is_left_in_it(docker_engine: Engine, image: str) -> None:
    said = docker(docker_engine, "run", "--rm", image, "python3", "-c", "import os; print(os.listdir('/'))")
    assert "wheelhouse" not in said
    assert PREFIX.split("/")[1] in said
