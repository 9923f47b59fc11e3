"""Clusters, their load balancers and images through `up` and `down`, cut off at every point on the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forge.errors import NotOurs, OperationFailed
from tests.kit.fake_doors import Clustered
from tests.kit.fake_host import Killed, Machine

METALLB = Path(__file__).parents[2] / "kind" / "metallb.yaml"
SPEC = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: docker}
  network: {loadBalancer: {manifest: {path: metallb.yaml}}}
  clusters: [{name: east}, {name: west}]
  images: [{name: "app:1", load: all}]
"""
CALLS = (
    "create_cluster east",
    "create_cluster west",
    "load_image app:1",
)


@pytest.fixture(autouse=True)
def _own_host_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def lab(tmp_path: Path) -> Clustered:
    made = Clustered(tmp_path, Machine())
    made.write(SPEC)
    shutil.copy(METALLB, tmp_path / "metallb.yaml")
    return made


def clean(lab: Clustered) -> None:
    lab.down()
    assert lab.inventory() == set()


def test_it_comes_up_whole_and_then_there_is_nothing_to_do(lab: Clustered) -> None:
    assert lab.up()[1].is_complete
    calls = list(lab.fleet.calls)
    assert sorted(calls[:2]) == ["create_cluster east", "create_cluster west"]
    assert calls.count("load_image app:1") == 2
    assert {c.images["app:1"] for c in lab.fleet.clusters.values()} == {"sha256:app-1"}
    plan, _ = lab.up()
    assert plan.is_empty
    assert lab.fleet.calls == calls


@pytest.mark.parametrize("at", ["before", "halfway", "after"])
@pytest.mark.parametrize("call", CALLS)
def test_killed_at_any_point_the_next_run_goes_on_and_down_leaves_nothing(
    lab: Clustered, call: str, at: str
) -> None:
    lab.parallel = 1

    def kill(now: str) -> None:
        if now == call:
            raise Killed(now)

    setattr(lab.fleet, at, kill)
    if not (call.startswith("load") and at == "halfway"):  # a load has no half
        with pytest.raises(Killed):
            lab.up()
    setattr(lab.fleet, at, lambda _: None)
    assert lab.up()[1].is_complete
    assert lab.up()[0].is_empty
    assert all(c.whole and c.running for c in lab.fleet.clusters.values())
    clean(lab)


def test_one_that_fails_leaves_the_other_and_is_made_by_the_next_run(lab: Clustered) -> None:
    lab.fleet.fail["create_cluster west"] = [
        OperationFailed("FG0702", "kind could not make it", changed=False)
    ]
    _, outcome = lab.up()
    assert not outcome.is_complete
    assert lab.fleet.inventory() == {"cluster forge-east"}
    assert "create cluster/west, not found" in lab.plan()
    assert lab.up()[1].is_complete
    clean(lab)


def test_a_half_made_one_goes_first_with_its_cause(lab: Clustered) -> None:
    lab.parallel = 1

    def kill(now: str) -> None:
        raise Killed(now)

    lab.fleet.halfway = kill
    with pytest.raises(Killed):
        lab.up()
    lab.fleet.halfway = lambda _: None
    assert "replace cluster/east, it was only half made" in lab.plan()


def test_one_that_does_not_answer_is_started_and_keeps_its_identity(lab: Clustered) -> None:
    lab.up()
    before = lab.fleet.clusters["forge-east"].id
    lab.fleet.clusters["forge-east"].answers = False
    assert "start cluster/east" in lab.plan()
    assert lab.up()[1].is_complete
    assert lab.fleet.clusters["forge-east"].id == before
    assert "start_cluster east" in lab.fleet.calls


def test_one_that_somebody_took_away_is_made_with_all_that_was_in_it(lab: Clustered) -> None:
    lab.up()
    del lab.fleet.clusters["forge-west"]
    plan = lab.plan()
    for key in ("cluster/west", "balancer/west", "load/west/app:1"):
        assert f"create {key}" in plan
    assert "east" not in plan
    assert lab.up()[1].is_complete


def test_a_foreign_one_of_that_name_stops_everything_before_anything(lab: Clustered) -> None:
    other = Clustered(lab.folder / "other", Machine())
    other.fleet, other.apis = lab.fleet, lab.apis
    other.write(SPEC.replace("name: lab}", "name: other}"))
    shutil.copy(METALLB, other.folder / "metallb.yaml")
    other.up()
    calls = list(lab.fleet.calls)
    with pytest.raises(NotOurs, match="forge-east"):
        lab.up()
    assert lab.fleet.calls == calls


def test_more_nodes_make_it_anew_with_what_is_inside(lab: Clustered) -> None:
    lab.up()
    before = lab.fleet.clusters["forge-west"].id
    lab.write(SPEC.replace("{name: east}", "{name: east, nodes: {workers: 2}}"))
    plan = lab.plan()
    assert "replace cluster/east, configuration differs" in plan
    assert "create balancer/east, cluster/east is replaced" in plan
    assert lab.up()[1].is_complete
    assert lab.fleet.clusters["forge-west"].id == before
    assert lab.fleet.clusters["forge-east"].resource.workers == 2
    assert lab.up()[0].is_empty


def test_another_image_under_the_same_name_is_loaded_again(lab: Clustered) -> None:
    lab.up()
    lab.fleet.local["app:1"] = "sha256:app-2"
    assert "create load/east/app:1" in lab.plan()
    lab.up()
    assert {c.images["app:1"] for c in lab.fleet.clusters.values()} == {"sha256:app-2"}


def test_a_cluster_that_left_the_file_goes_alone(lab: Clustered) -> None:
    lab.up()
    lab.write(SPEC.replace(", {name: west}", ""))
    lab.up()
    assert lab.fleet.inventory() == {"cluster forge-east"}
    clean(lab)
