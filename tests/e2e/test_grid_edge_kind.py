"""The grid-edge lab on a real engine with the real kind: a region is lost, nothing gets through, nothing is left.

The nodes are the tests' stand-in: their pods are processes, and their NetworkPolicies are not enforced.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.lab import CLUSTERS, Lab
from e2e.scenario import Scenario
from e2e.scenarios import boundary, failover, last_good
from forge.host.engine import Engine
from tests.kit.grid_labs import ROOT, brought_up, copied, played, transcript
from tests.kit.kind_labs import kind_for, left_over
from tests.kit.praxis_image import prepared
from tests.kit.two_clusters import replaced

pytestmark = pytest.mark.docker

IMAGE = "praxis-grid/praxis:dev"
NODE = "praxis.test/grid-node:dev"


def for_kind(config: Path) -> None:
    """The same file, with the test node, the stand-in for MetalLB, and an image that is there already."""
    shutil.copy(ROOT / "tests" / "kind" / "metallb.yaml", config.parent / "metallb.yaml")
    for cluster in CLUSTERS:
        named = f"    - name: {cluster}\n      "
        replaced(config, f"{named}properties:", f"{named}nodeImage: '{NODE}'\n      properties:")
    replaced(config, "{type: metallb, ", "{type: metallb, manifest: {path: metallb.yaml}, ")


@pytest.fixture(scope="module")
def lab(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    kind = kind_for(docker, NODE, {IMAGE: []})
    folder = tmp_path_factory.mktemp("grid")
    config = copied(folder)
    for_kind(config)
    context = config.parent / "images"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in kind.env.items():
            patch.setenv(name, value)
        patch.setenv("XDG_STATE_HOME", str(folder / "xdg"))
        patch.setenv("GRID_BASE", prepared(docker, context))
        before = left_over(docker)
        with brought_up(config, "docker") as lab:
            yield lab
        assert left_over(docker) == before
        assert not lab.state.exists()


@pytest.mark.parametrize(
    "scenario", [s.SCENARIO for s in (failover, boundary, last_good)], ids=lambda s: s.name
)
def test_a_promise_is_kept(lab: Lab, scenario: Scenario) -> None:
    record = played(lab, scenario)
    assert record.played.ok, transcript(record)
    assert len(record.played.steps) == len(scenario.steps)
