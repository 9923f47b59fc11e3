"""Which pods a ReplicaSet counts as its own, and which go first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from forge.embedded.node.replicasets import new_pod, orphans, own, status, surplus

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
SET: dict[str, Any] = {
    "kind": "ReplicaSet",
    "apiVersion": "apps/v1",
    "metadata": {"name": "web", "namespace": "ns", "uid": "r", "generation": 2},
    "spec": {
        "replicas": 3,
        "minReadySeconds": 30,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
    },
}


def pod(
    name: str, owner: str = "r", phase: str = "Running", ready_at: str = "", **more: Any
) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready_at}] if ready_at else []
    meta = {
        "name": name,
        "uid": name,
        "labels": {"app": "web"},
        "creationTimestamp": "2026-06-01T11:00:00Z",
        **more,
    }
    if owner:
        meta["ownerReferences"] = [{"uid": owner, "controller": True}]
    return {
        "metadata": meta,
        "spec": {"nodeName": "lab"},
        "status": {"phase": phase, "conditions": conditions},
    }


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["metadata"]["name"] for one in found]


def test_its_own_are_the_living_ones_that_it_owns() -> None:
    found = [
        pod("a"),
        pod("b", owner="x"),
        pod("c", phase="Failed"),
        pod("d", deletionTimestamp="2026-06-01T12:00:00Z"),
        pod("e", owner=""),
    ]
    assert names(own(SET, found)) == ["a"]
    assert names(orphans(SET, found)) == ["e"]


READY = "2026-06-01T11:00:10Z"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(pod("x", phase="Pending"), pod("y"), id="one that is not running yet"),
        pytest.param(pod("x"), pod("y", ready_at=READY), id="one that is not ready"),
        pytest.param(
            pod("x", ready_at=READY, creationTimestamp="2026-06-01T11:30:00Z"),
            pod("y", ready_at=READY),
            id="the younger",
        ),
        pytest.param(
            pod("x", ready_at=READY, annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}),
            pod("y", ready_at=READY, creationTimestamp="2026-06-01T11:30:00Z"),
            id="the cheaper, whatever its age",
        ),
    ],
)
def test_what_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert names(surplus([second, first], 1)) == ["x"]
    assert names(surplus([first, second], 1)) == ["x"]


def test_the_status_counts_ready_and_available_pods_apart() -> None:
    mine = [pod("a", ready_at="2026-06-01T11:59:00Z"), pod("b", ready_at="2026-06-01T11:59:50Z"), pod("c")]
    assert status(SET, mine, NOW) == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "observedGeneration": 2,
    }


def test_a_new_pod_is_its_own() -> None:
    made = new_pod(SET)
    assert made["metadata"]["generateName"] == "web-"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "r"
