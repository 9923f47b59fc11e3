"""A build's lines, its Containerfile and its builder, without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host import docker_build
from forge.plan.resources import BuildRecipe


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param("Step 2/5 : RUN make all", ["step 2/5: RUN make all"], id="the older builder"),
        pytest.param("#7 [2/5] RUN make", ["step 2/5: RUN make"], id="BuildKit"),
        pytest.param("#7 [build 2/5] RUN make", ["step 2/5: RUN make"], id="BuildKit, of a stage"),
        pytest.param("#7 0.123 compiling", [], id="output of a step"),
        pytest.param("Step 1/1 : RUN " + "x" * 200, ["step 1/1: RUN " + "x" * 66], id="a long one is cut"),
    ],
)
def test_its_steps_are_told(line: str, told: list[str]) -> None:
    found: list[str] = []
    tell = docker_build.steps(found.append)
    tell(line)
    tell(line)
    assert found == told


@pytest.mark.parametrize(
    ("names", "found"),
    [
        pytest.param(["Dockerfile"], "Dockerfile", id="one"),
        pytest.param(["Containerfile", "Dockerfile"], "Containerfile", id="both"),
    ],
)
def test_the_file_it_is_built_by(tmp_path: Path, names: list[str], found: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert docker_build.containerfile("app", BuildRecipe(str(tmp_path))) == tmp_path / found
    named = BuildRecipe(str(tmp_path), file="/elsewhere/File")
    assert docker_build.containerfile("app", named) == Path("/elsewhere/File")


def test_a_context_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match="no Containerfile and no Dockerfile"):
        docker_build.containerfile("app", BuildRecipe(str(tmp_path)))


def test_buildkit_is_used_where_its_plugin_is(tmp_path: Path) -> None:
    environ = {"DOCKER_CONFIG": str(tmp_path)}
    before = docker_build.has_buildkit(environ, tmp_path)
    plugin = tmp_path / "cli-plugins" / "docker-buildx"
    plugin.parent.mkdir()
    plugin.touch(mode=0o755)
    assert docker_build.has_buildkit(environ, tmp_path)
    plugin.unlink()
    assert docker_build.has_buildkit(environ, tmp_path) is before
