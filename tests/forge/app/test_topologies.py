"""The reference's environment files plan unmodified, on a machine that nothing may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.app.lab import Options, find
from forge.app.up import Request, plan
from forge.plan.ports import Host
from forge.plan.text import plan_text
from tests.kit.fake_clusters import Fleet
from tests.kit.fake_doors import FakeDoors
from tests.kit.fake_host import FakeHost, Machine

TOPOLOGIES = Path(__file__).parents[4] / "shared" / "data" / "topologies"
FILES = sorted(TOPOLOGIES.rglob("forge*.yaml"))

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the shared fixtures are not beside the project"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(TOPOLOGIES)))
def test_plans_unmodified(file: Path, tmp_path: Path) -> None:
    machine = Machine(frozen=True)

    def open_host(runtime: str, _: Path) -> Host:
        return FakeHost(machine, runtime)

    notes: list[str] = []
    lab = find(Options(config=file, state_dir=tmp_path, runtime="docker"))
    request = Request(open_host=open_host, open_doors=lambda lab, *_: FakeDoors(lab, Fleet(), {}))
    prepared = plan(lab, notes.append, request)
    steps = plan_text(prepared.plan).splitlines()
    assert all(line.startswith("create ") for line in steps)
    assert prepared.wish.spec is not None
    asked = prepared.wish.spec.spec.clusters
    made = [step.change.key.name for step in prepared.plan.steps if step.change.key.kind == "cluster"]
    assert sorted(made) == sorted(cluster.name for cluster in asked)
    stacked = {step.change.key.cluster for step in prepared.plan.steps if step.change.key.kind == "step"}
    assert stacked == {cluster.name for cluster in asked if cluster.stacks}
