"""The real kubectl, every version at hand, as people type it: a session of commands and what they print.

KUBECTL names further binaries (separated like PATH); `python -m tests.kind.fetch` gets two versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from tests.forge.embedded.node import session
from tests.forge.embedded.node.session import Step
from tests.kind import fetch
from tests.kit.embedded_node import EmbeddedNode, running_node

_FOUND = [pytest.param(binary, id=version) for version, binary in fetch.kubectls().items()]
_NONE = [pytest.param("", marks=pytest.mark.skip("kubectl is missing"), id="none")]
EDITOR = '#!/bin/sh\nsed -i s/green/gold/ "$1"\n'


@pytest.fixture(scope="module", params=_FOUND or _NONE)
def kubectl(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedNode]:
    """A cluster with a node, spoken to with one kubectl, that edits by a script."""
    folder = tmp_path_factory.mktemp("session")
    editor = folder / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    with pytest.MonkeyPatch.context() as environment, running_node(folder) as node:
        environment.setenv("KUBE_EDITOR", str(editor))
        node.binary = request.param
        yield node


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(session.ABOUT, id="what the cluster says of itself"),
        pytest.param(session.OBJECTS, id="objects"),
        pytest.param(session.WORKLOADS, id="workloads"),
        pytest.param(session.REFUSED, id="what is refused, and clearly"),
    ],
)
def test_each_command_prints_what_people_expect(kubectl: EmbeddedNode, steps: Sequence[Step]) -> None:
    for step in steps:
        done = kubectl.run(step.command, step.given)
        printed = (done.stdout + done.stderr if step.fails else done.stdout).strip()
        said = f"{step.command}: {done.stdout}{done.stderr}"
        assert (done.returncode != 0) == step.fails, said
        assert re.search(step.expected, printed), f"{said} is not {step.expected!r}"
