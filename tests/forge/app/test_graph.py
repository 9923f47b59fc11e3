"""The graph of the reference's environments has the waves that were counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.app.graph import graph
from forge.app.lab import Options, find
from forge.app.up import Request
from forge.plan.ports import Host
from forge.plan.values import Key
from forge.render.graph import reduced
from tests.kit.fake_host import FakeHost, Machine

TOPOLOGIES = Path(__file__).parents[4] / "shared" / "data" / "topologies"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not TOPOLOGIES.is_dir(), reason="the shared fixtures are not beside the project"),
]


def waves(folder: str, state_dir: Path) -> list[list[str]]:
    """Stacks on clusters that can be applied at once, wave by wave."""

    def open_host(runtime: str, _: Path) -> Host:
        return FakeHost(Machine(frozen=True), runtime)

    lab = find(Options(config=TOPOLOGIES / folder / "forge.yaml", state_dir=state_dir, runtime="embedded"))
    needs = reduced(graph(lab, lambda _: None, Request(open_host=open_host)).desired)
    wave: dict[str, int] = {}
    for key, wanted in needs.items():
        if key.kind == "step":
            after = [
                wave[_stack(n.key)] + 1
                for n in wanted
                if n.key.kind == "step" and _stack(n.key) != _stack(key)
            ]
            wave[_stack(key)] = max([wave.get(_stack(key), 0), *after])
    assert not list(state_dir.iterdir())
    return [sorted(s for s, at in wave.items() if at == number) for number in range(max(wave.values()) + 1)]


def _stack(key: Key) -> str:
    cluster, stack, _ = key.name.split("/")
    return f"{cluster}/{stack}"


def test_three_clusters_go_side_by_side_in_six_waves(tmp_path: Path) -> None:
    found = waves("grid-combined-site", tmp_path)
    assert [len(wave) for wave in found] == [3, 3, 3, 3, 3, 3]
    assert found[0] == ["central/metallb", "east/metallb", "west/metallb"]


def test_five_clusters_need_eight_waves(tmp_path: Path) -> None:
    found = waves("grid-glb-demo", tmp_path)
    assert len(found) == 8
    assert len(found[0]) == 5
    assert found[-1] == ["gtm-emulator/gtm-emulator"]
