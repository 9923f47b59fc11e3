"""Whether an applied object does its work is told for every kind that can say so."""

from __future__ import annotations

from typing import Any

import pytest

from forge.plan.lab_ports import Object
from forge.stack.readiness import Readiness, readiness


def thing(
    kind: str, status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **meta: Any
) -> Object:
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": 2, **meta},
        "spec": spec or {},
        "status": status or {},
    }


def condition(type_: str, status: str = "True", **rest: Any) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": status, **rest}]}


@pytest.mark.parametrize(
    ("found", "expected", "reason"),
    [
        pytest.param(None, "gone", "not there any more", id="gone"),
        pytest.param(
            thing("ConfigMap", deletionTimestamp="2026-01-01"), "waiting", "being deleted", id="going"
        ),
        pytest.param(thing("ConfigMap"), "there", "", id="a ConfigMap"),
        pytest.param(thing("Widget"), "there", "", id="a kind nobody knows"),
        pytest.param(thing("Deployment", condition("Available")), "ready", "", id="an available Deployment"),
        pytest.param(
            thing("Deployment", {**condition("Available"), "observedGeneration": 1}),
            "waiting",
            "not taken up",
            id="an old status",
        ),
        pytest.param(
            thing("Deployment", condition("Available", "False")),
            "waiting",
            "Available is False",
            id="unavailable",
        ),
        pytest.param(
            thing("Deployment", condition("Progressing", "False", reason="ProgressDeadlineExceeded")),
            "failed",
            "ProgressDeadlineExceeded",
            id="a Deployment that gave up",
        ),
        pytest.param(thing("Job", condition("Complete")), "ready", "", id="a Job that is done"),
        pytest.param(
            thing("Job", condition("Failed", reason="BackoffLimitExceeded")),
            "failed",
            "BackoffLimit",
            id="a failed Job",
        ),
        pytest.param(thing("Pod", condition("Ready")), "ready", "", id="a ready Pod"),
        pytest.param(thing("CustomResourceDefinition", condition("Established")), "ready", "", id="a CRD"),
        pytest.param(thing("Service"), "there", "", id="a Service inside the cluster"),
        pytest.param(
            thing("Service", spec={"type": "LoadBalancer"}), "waiting", "no address", id="no address yet"
        ),
        pytest.param(
            thing("Service", {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}, {"type": "LoadBalancer"}),
            "ready",
            "",
            id="an address",
        ),
        pytest.param(thing("PersistentVolumeClaim", {"phase": "Bound"}), "ready", "", id="bound"),
        pytest.param(
            thing("PersistentVolumeClaim", {"phase": "Pending"}), "waiting", "Pending", id="unbound"
        ),
        pytest.param(thing("Namespace", {"phase": "Active"}), "ready", "", id="a Namespace"),
        pytest.param(
            thing("Namespace", {"phase": "Terminating"}), "waiting", "Terminating", id="a Namespace that goes"
        ),
        pytest.param({"kind": "Service", "metadata": None, "spec": "x"}, "there", "", id="rubbish"),
    ],
)
def test_an_object_stands(found: Object | None, expected: str, reason: str) -> None:
    state, why = readiness(found)
    assert state.value == expected
    assert reason in why
    assert state.is_well is (why == "")


def test_a_pod_that_cannot_start_is_to_blame() -> None:
    pod = thing(
        "Pod",
        {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}]},
    )
    state, why = readiness(thing("Deployment", condition("Available", "False")), [pod])
    assert state is Readiness.FAILED
    assert "ImagePullBackOff" in why
