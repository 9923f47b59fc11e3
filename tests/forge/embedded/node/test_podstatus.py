"""A pod's phase and conditions, as kubectl waits for them."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.node import podstatus
from forge.embedded.node.podstatus import Place

NOW, LATER = "2026-06-01T12:00:00Z", "2026-06-01T12:05:00Z"
PLACE = Place("127.1.0.1", "127.1.0.2")


def entry(
    state: str, *, code: int = 0, ready: bool = False, last: bool = False, name: str = "c"
) -> dict[str, Any]:
    detail = {"exitCode": code} if state == "terminated" else {}
    return {
        "name": name,
        "ready": ready,
        "started": state == "running",
        "restartCount": int(last),
        "state": {state: detail},
        "lastState": {"terminated": {"exitCode": 1}} if last else {},
    }


def pod(policy: str = "Always", *initial: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "spec": {"restartPolicy": policy, "initContainers": list(initial), "containers": [{"name": "c"}]},
        **more,
    }


RUNNING, DONE, FAILED = entry("running"), entry("terminated"), entry("terminated", code=2)
WAITING, CRASHED = entry("waiting"), entry("waiting", last=True)
PLAIN, SIDECAR = {"name": "i"}, {"name": "i", "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("policy", "containers", "expected"),
    [
        pytest.param("Always", [WAITING], "Pending", id="not yet made"),
        pytest.param("Always", [RUNNING, WAITING], "Pending", id="one not yet made"),
        pytest.param("Always", [RUNNING], "Running", id="running"),
        pytest.param("Always", [CRASHED], "Running", id="in a crash loop"),
        pytest.param("Always", [DONE], "Running", id="done, to be started again"),
        pytest.param("Never", [DONE, DONE], "Succeeded", id="all done"),
        pytest.param("Never", [DONE, FAILED], "Failed", id="one failed for good"),
        pytest.param("Never", [RUNNING, FAILED], "Running", id="one failed, one runs"),
        pytest.param("OnFailure", [FAILED], "Running", id="failed, to be tried again"),
    ],
)
def test_the_phase(policy: str, containers: list[dict[str, Any]], expected: str) -> None:
    assert podstatus.phase(pod(policy), [], containers) == expected


@pytest.mark.parametrize(
    ("policy", "container", "found", "expected"),
    [
        pytest.param("Always", PLAIN, RUNNING, "Pending", id="still initialising"),
        pytest.param("Always", PLAIN, DONE, "Running", id="initialised"),
        pytest.param("Always", PLAIN, FAILED, "Pending", id="failed, to be tried again"),
        pytest.param("Never", PLAIN, FAILED, "Failed", id="failed for good"),
        pytest.param("Always", SIDECAR, RUNNING, "Running", id="a sidecar that has started"),
        pytest.param("Always", SIDECAR, WAITING, "Pending", id="a sidecar that has not"),
    ],
)
def test_the_phase_of_what_comes_first(
    policy: str, container: dict[str, Any], found: dict[str, Any], expected: str
) -> None:
    assert podstatus.phase(pod(policy, container), [found], [RUNNING]) == expected


def conditions(status: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: c["status"] for c in status["conditions"]}


def test_conditions_keep_their_time_until_they_change() -> None:
    first = podstatus.status(pod(), PLACE, [], [entry("running")], NOW)
    assert conditions(first) == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "False",
        "ContainersReady": "False",
        "PodScheduled": "True",
    }
    ready = podstatus.status(pod(status=first), PLACE, [], [entry("running", ready=True)], LATER)
    times = {c["type"]: c["lastTransitionTime"] for c in ready["conditions"]}
    assert (times["Ready"], times["PodScheduled"], ready["startTime"]) == (LATER, NOW, NOW)
    again = podstatus.status(
        pod(status=ready), PLACE, [], [entry("running", ready=True)], "2026-06-01T13:00:00Z"
    )
    assert again == ready


def test_unready_containers_are_named() -> None:
    status = podstatus.status(
        pod(), PLACE, [], [entry("running", ready=True), entry("running", name="d")], NOW
    )
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")
    assert ready["message"] == "containers with unready status: [d]"


def test_readiness_gates_are_somebody_elses_to_open() -> None:
    gated = pod(status={"conditions": [{"type": "lab/open", "status": "False"}]})
    gated["spec"]["readinessGates"] = [{"conditionType": "lab/open"}]
    held = podstatus.status(gated, PLACE, [], [entry("running", ready=True)], NOW)
    assert (conditions(held)["Ready"], conditions(held)["ContainersReady"]) == ("False", "True")
    gated["status"]["conditions"][0]["status"] = "True"
    opened = podstatus.status(gated, PLACE, [], [entry("running", ready=True)], NOW)
    assert (conditions(opened)["Ready"], conditions(opened)["lab/open"]) == ("True", "True")


def test_a_refused_pod_says_why() -> None:
    status = podstatus.unschedulable(pod(), "no room", NOW)
    assert status["phase"] == "Pending"
    assert status["conditions"][0] | {"lastProbeTime": None} == {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": NOW,
        "reason": "Unschedulable",
        "message": "no room",
    }
