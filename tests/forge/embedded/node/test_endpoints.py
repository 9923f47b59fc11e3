"""EndpointSlices: which pods stand behind a Service, and how ready they are."""

from __future__ import annotations

from typing import Any

from forge.embedded.node.endpoints import endpoints, slices


def pod(
    name: str, address: str, *, ready: bool = True, leaving: bool = False, port: int = 8080, **labels: str
) -> Any:
    meta: dict[str, Any] = {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web", **labels}}
    if leaving:
        meta["deletionTimestamp"] = "2026-06-01T12:00:00Z"
    return {
        "metadata": meta,
        "spec": {
            "nodeName": "lab",
            "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": port}]}],
        },
        "status": {
            "phase": "Running",
            "podIP": address,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def service(**spec: Any) -> Any:
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "web", "namespace": "ns", "uid": "s"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}], **spec},
    }


def told(one: Any) -> dict[str, tuple[bool, bool, bool]]:
    return {
        e["addresses"][0]: (
            e["conditions"]["ready"],
            e["conditions"]["serving"],
            e["conditions"]["terminating"],
        )
        for e in one["endpoints"]
    }


def test_each_pod_is_told_with_its_readiness() -> None:
    pods = [
        pod("a", "127.1.0.2"),
        pod("b", "127.1.0.3", ready=False),
        pod("c", "127.1.0.4", leaving=True),
        pod("d", "127.1.0.5", app="other"),
    ]
    [one] = slices(service(), pods)
    assert told(one) == {
        "127.1.0.2": (True, True, False),
        "127.1.0.3": (False, False, False),
        "127.1.0.4": (False, True, True),
    }
    assert one["ports"] == [{"name": "", "protocol": "TCP", "port": 8080}]
    assert one["metadata"]["labels"]["kubernetes.io/service-name"] == "web"


def test_pods_whose_named_port_differs_have_a_slice_of_their_own() -> None:
    found = slices(service(), [pod("a", "127.1.0.2"), pod("b", "127.1.0.3", port=9090)])
    assert {one["ports"][0]["port"]: list(told(one)) for one in found} == {
        8080: ["127.1.0.2"],
        9090: ["127.1.0.3"],
    }
    assert len({one["metadata"]["name"] for one in found}) == 2


def test_a_service_may_want_pods_that_are_not_ready() -> None:
    [one] = slices(service(publishNotReadyAddresses=True), [pod("a", "127.1.0.2", ready=False)])
    assert told(one) == {"127.1.0.2": (True, False, False)}


def test_a_service_without_pods_has_an_empty_slice() -> None:
    [one] = slices(service(), [])
    assert (one["endpoints"], one["ports"]) == ([], [])


def test_the_older_form_tells_the_same_without_what_is_leaving() -> None:
    pods = [pod("a", "127.1.0.2"), pod("b", "127.1.0.3", ready=False), pod("c", "127.1.0.4", leaving=True)]
    [subset] = endpoints(service(), slices(service(), pods))["subsets"]
    assert [a["ip"] for a in subset["addresses"]] == ["127.1.0.2"]
    assert [a["ip"] for a in subset["notReadyAddresses"]] == ["127.1.0.3"]
    assert subset["ports"] == [{"protocol": "TCP", "port": 8080}]
