"""Two clusters, their stacks and a service beside them, as a user brings them up: whole, repeatable, gone after."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.praxis_forge import Forge, processes_with
from tests.kit.two_clusters import CLUSTERS, copied, replaced, said

WHOLE = "door > west > east"


def kubectl(lab: Forge, cluster: str, *words: str) -> str:
    return lab("cluster", "kubectl", cluster, "--", *words).stdout


def pods(lab: Forge) -> dict[str, str]:
    """uid of every pod -> its name: what a restart or a rollout changes."""
    found: dict[str, str] = {}
    for cluster in CLUSTERS:
        listed = json.loads(kubectl(lab, cluster, "get", "pods", "-n", "echo", "-o", "json"))
        found |= {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in listed["items"]}
    return found


def planned(lab: Forge) -> list[str]:
    changes: list[dict[str, Any]] = lab.data("plan")["changes"]
    return [f"{c['verb']} {c['kind']}/{c['name']}" for c in changes]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Forge, int]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / "lab"
    port = copied(folder, f"two-{secrets.token_hex(4)}")
    lab = Forge(folder, {"FORGE_RUNTIME": "embedded"}, timeout_s=240)
    yield lab, port
    lab("down")
    assert not (folder / ".forge").exists()
    assert processes_with(str(folder)) == {}


@pytest.fixture
def lab(empty: tuple[Forge, int]) -> tuple[Forge, int]:
    empty[0]("up")
    return empty


def test_it_comes_up_once_and_stays_as_it_is(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    assert said(port) == WHOLE
    assert forge.data("status")["ok"]
    before = pods(forge), forge.data("service", "list")
    again = forge("up")
    assert "No changes" in again.stdout
    assert "No changes" in forge("up", "--parallel", "1").stdout
    assert (pods(forge), forge.data("service", "list")) == before


def test_only_what_changed_is_done_again(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    before = pods(forge)
    replaced(
        forge.folder / "manifests" / "namespace.yaml",
        "metadata: {name: echo}",
        "metadata: {name: echo, labels: {a: b}}",
    )
    assert planned(forge) == [f"update step/{c}/namespace/01-manifest" for c in CLUSTERS]
    forge("up")
    assert planned(forge) == []
    assert pods(forge) == before
    assert "a=b" in kubectl(forge, "east", "get", "namespace", "echo", "--show-labels")
    assert said(port) == WHOLE


def test_what_a_hand_changed_or_deleted_is_put_back(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    kubectl(forge, "east", "delete", "service", "echo", "-n", "echo")
    kubectl(
        forge,
        "west",
        "patch",
        "configmap",
        "peers",
        "-n",
        "echo",
        "--type=merge",
        "-p",
        '{"data":{"PEER":"http://nowhere"}}',
    )
    found = planned(forge)
    assert "update step/west/peers/01-configmap" in found
    assert any(line.endswith("step/east/echo/02-template-manifest") for line in found)
    forge("up")
    assert planned(forge) == []
    assert said(port) == WHOLE


def test_what_others_write_beside_it_is_left(lab: tuple[Forge, int]) -> None:
    forge, _ = lab
    kubectl(forge, "east", "annotate", "deployment", "echo", "-n", "echo", "somebody=else")
    assert planned(forge) == []


def test_a_step_that_leaves_the_file_takes_its_objects_along(lab: tuple[Forge, int]) -> None:
    forge, _ = lab
    replaced(forge.folder / "forge.yaml", "stacks: [namespace, peers, echo]", "stacks: [namespace, echo]")
    assert "remove step/west/peers/01-configmap" in planned(forge)
    forge("up")
    assert "peers" not in kubectl(forge, "west", "get", "configmaps", "-n", "echo")


def test_a_daemon_that_is_killed_comes_back_by_itself_with_all_it_had(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    daemons = [pid for pid, line in processes_with(str(forge.folder)).items() if "--name two-east" in line]
    assert len(daemons) == 1
    os.kill(daemons[0], signal.SIGKILL)
    forge("up")
    assert planned(forge) == []
    assert said(port) == WHOLE


def test_a_cluster_that_is_stopped_is_started_and_looked_at(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    forge("fault", "stop", "cluster/east")
    plan = forge.data("plan")["changes"]
    assert {"kind": "cluster", "name": "east"}.items() <= plan[0].items()
    forge("up")
    assert planned(forge) == []
    assert said(port) == WHOLE


def test_a_workload_held_down_is_restored_by_up(lab: tuple[Forge, int]) -> None:
    forge, port = lab
    forge("fault", "kill", "east/echo/deployment/echo")
    assert "0/0" in kubectl(forge, "east", "get", "deployment", "echo", "-n", "echo")
    assert [f["name"] for f in forge.data("fault", "list")["faults"]] == ["east/echo/deployment/echo"]
    forge("up")
    assert forge.data("fault", "list")["faults"] == []
    assert planned(forge) == []
    assert said(port) == WHOLE


def test_the_graph_names_the_edge_between_the_clusters(empty: tuple[Forge, int]) -> None:
    text = empty[0]("graph", "--format", "text").stdout
    mermaid = empty[0]("graph", "--format", "mermaid").stdout
    assert "step/west/peers/01-configmap" in text
    assert "step/east/echo/04-capture" in text
    assert mermaid.startswith(("graph", "flowchart"))


@pytest.mark.parametrize(
    ("told", "number"),
    [
        pytest.param("cluster/west", signal.SIGKILL, id="a cluster is made, SIGKILL"),
        pytest.param("step/east/echo/03-wait", signal.SIGINT, id="a step waits, SIGINT"),
        pytest.param("service/door", signal.SIGTERM, id="a service starts, SIGTERM"),
    ],
)
def test_up_goes_on_where_a_signal_cut_it_off(
    empty: tuple[Forge, int], told: str, number: signal.Signals
) -> None:
    forge, port = empty
    with forge.running("up") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if f"{told} creating" in line:
                break
        process.send_signal(number)
        process.wait(120)
    forge("up")
    assert planned(forge) == []
    assert said(port) == WHOLE


def write_points() -> list[Any]:
    """Writes of the journal during `up`: a sample by default, all of them with the long tests."""
    sampled = {7, 29}
    return [pytest.param(n, marks=() if n in sampled else (pytest.mark.long,)) for n in range(1, 46)]


@pytest.mark.parametrize("point", write_points())
def test_killed_at_any_write_of_its_journal_up_converges(empty: tuple[Forge, int], point: int) -> None:
    forge, port = empty
    was_killed = forge.killed_at(point, "up")
    forge("up")
    assert planned(forge) == []
    assert said(port) == WHOLE
    assert was_killed or point > 40


@pytest.mark.parametrize("point", write_points())
def test_killed_at_any_write_of_its_journal_down_leaves_nothing(empty: tuple[Forge, int], point: int) -> None:
    """The fixture's own `down` ends it, and looks for what is left."""
    empty[0].killed_at(point, "up")


def test_two_ups_at_once_are_one_after_the_other(empty: tuple[Forge, int]) -> None:
    forge, port = empty
    with forge.running("up") as first:
        forge("up")
        assert first.wait(120) == 0
    assert planned(forge) == []
    assert said(port) == WHOLE
