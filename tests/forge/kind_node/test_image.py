"""An image holds the project, its commands and what they need, beside the mapping it was built with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge.host.engine import Engine
from tests.kind import image
from tests.kind.tool import Kind

pytestmark = pytest.mark.docker

TAG = "praxis.test/kind-node:project"
MAPPED = {"praxis.test/edge:1": ["praxis-edge"], "praxis.test/sim:1": ["praxis-sim", "--port", "1"]}


@pytest.mark.usefixtures("node_image")  # which skips where an image cannot be made
def test_the_project_runs_in_a_node(docker: Engine, tmp_path: Path) -> None:
    image.build(docker, TAG, MAPPED)
    tool = Kind(Path("no kind is run"), docker, tmp_path)

    def run(program: str, *words: str) -> str:
        return tool.docker("run", "--rm", "--net=none", "--entrypoint", program, TAG, *words)

    assert "usage: praxis-edge" in run("praxis-edge", "--help")
    assert "usage: praxis-sim" in run("praxis-sim", "--help")
    run("python", "-c", "import grid, edge.main, forge.embedded.daemon, kubernetes, cel_expr_python.cel")
    assert MAPPED.items() <= json.loads(run("cat", "/kind/images.json")).items()
