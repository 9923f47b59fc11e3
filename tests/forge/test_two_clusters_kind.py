"""Two clusters of the real kind on a real engine: up, unchanged, mended, gone; nodes are the test's stand-in."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from forge.host.engine import Engine
from tests.kit import two_clusters
from tests.kit.images import python_image
from tests.kit.kind_labs import kind_for, left_over
from tests.kit.praxis_forge import Forge
from tests.kit.two_clusters import IMAGE, said

pytestmark = pytest.mark.docker

WHOLE = "door > west > east"
BASE = "praxis.test/echo-base:dev"
NODE = "praxis.test/two-node:dev"


@dataclass(frozen=True, slots=True)
class Two:
    forge: Forge
    port: int
    engine: Engine


@pytest.fixture(scope="module")
def lab(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    kind = kind_for(docker, NODE, {IMAGE: []})
    python_image(docker, BASE)
    folder = tmp_path_factory.mktemp("two")
    mark = secrets.token_hex(3)
    port = two_clusters.copied(folder, f"two-{mark}")
    two_clusters.for_kind(folder, NODE, f"t{mark}")
    state = folder / "xdg"
    env = {**kind.env, "ECHO_BASE": BASE, "XDG_STATE_HOME": str(state), "FORGE_RUNTIME": "docker"}
    forge = Forge(folder, env, timeout_s=500)
    before = left_over(docker)
    try:
        forge("up")
        yield Two(forge, port, docker)
    finally:
        forge("down")
    assert left_over(docker) == before
    assert not (folder / ".forge").exists()


def planned(lab: Two) -> list[str]:
    return [f"{c['verb']} {c['kind']}/{c['name']}" for c in lab.forge.data("plan")["changes"]]


def test_the_door_asks_west_which_asks_east(lab: Two) -> None:
    assert said(lab.port) == WHOLE


def test_a_second_up_changes_and_restarts_nothing(lab: Two) -> None:
    lab.forge("evidence", "mark")
    assert "No changes" in lab.forge("up").stdout
    assert lab.forge.data("evidence", "diff")["differences"] == []
    assert lab.forge.data("status")["ok"]


def test_addresses_are_of_the_lab_s_own_network_and_disjoint(lab: Two) -> None:
    shown = lab.forge.data("cluster", "list")
    assert [c["name"] for c in shown["clusters"]] == ["east", "west"]
    addresses = set()
    for cluster in ("east", "west"):
        out = lab.forge("cluster", "kubectl", cluster, "--", "get", "service", "echo", "-n", "echo").stdout
        addresses.add(out.splitlines()[1].split()[3])
    assert len(addresses) == 2


def test_a_node_that_was_stopped_is_started_with_all_it_had(lab: Two) -> None:
    (node,) = [c for c in lab.engine.get("/containers/json") if c["Names"][0].endswith("-east-control-plane")]
    lab.engine.post(f"/containers/{node['Id']}/stop", {"t": 5})
    assert planned(lab)[0] == "start cluster/east"
    lab.forge("up")
    assert planned(lab) == []
    assert said(lab.port) == WHOLE


def test_a_workload_held_down_is_restored_by_up(lab: Two) -> None:
    lab.forge("fault", "stop", "east/echo/deployment/echo")
    lab.forge("up")
    assert planned(lab) == []
    assert said(lab.port) == WHOLE
