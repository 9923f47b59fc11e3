"""Where Services are listened for: each of their addresses, and only ready endpoints behind it."""

from __future__ import annotations

from typing import Any

from forge.embedded.lb import pools
from forge.embedded.lb.frontends import Frontend, frontends

HOME = pools.parse_pool("127.88.0.0/28")
SILENT = pools.Pool("silent", (pools.parse_range("127.89.0.0/28"),), advertised=False)


def service(name: str, **spec: Any) -> dict[str, Any]:
    balanced = spec.pop("balanced", "")
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP"}], **spec},
        "status": {"loadBalancer": {"ingress": [{"ip": balanced}] if balanced else []}},
    }


def endpoints(name: str, **ready: bool) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"{name}-x",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": name},
        },
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
        "endpoints": [
            {"addresses": [f"127.1.0.{key[1:]}"], "conditions": {"ready": value}}
            for key, value in ready.items()
        ],
    }


def listeners(one: dict[str, Any], *slices: dict[str, Any]) -> dict[str, list[str]]:
    known = [p for p in (HOME, SILENT) if p is not None]
    found = frontends([one], slices, known, "127.1.0.1")
    return {
        f"{f.protocol} {f.address}:{f.port}": [f"{a}:{p}" for a, p in leads]
        for f, (leads, _) in found.items()
    }


def test_a_cluster_address_leads_to_ready_endpoints() -> None:
    found = listeners(service("web", clusterIP="127.96.0.9"), endpoints("web", p2=True, p3=False, p4=True))
    assert found == {"TCP 127.96.0.9:80": ["127.1.0.2:8080", "127.1.0.4:8080"]}


def test_a_headless_service_has_no_listener() -> None:
    assert listeners(service("web", clusterIP="None"), endpoints("web", p2=True)) == {}


def test_every_address_of_a_service_leads_to_the_same_place() -> None:
    ports = [{"name": "http", "port": 80, "nodePort": 30080}]
    one = service(
        "web", clusterIP="127.96.0.9", balanced="127.88.0.3", externalIPs=["127.7.7.7"], ports=ports
    )
    leads = ["127.1.0.2:8080"]
    assert listeners(one, endpoints("web", p2=True)) == {
        "TCP 127.96.0.9:80": leads,
        "TCP 127.1.0.1:30080": leads,
        "TCP 127.88.0.3:80": leads,
        "TCP 127.7.7.7:80": leads,
    }


def test_an_address_nobody_advertises_leads_nowhere() -> None:
    assert listeners(service("web", clusterIP="None", balanced="127.89.0.3"), endpoints("web", p2=True)) == {}


def test_slices_of_other_services_are_not_its_own() -> None:
    found = listeners(service("web", clusterIP="127.96.0.9"), endpoints("api", p2=True))
    assert found == {"TCP 127.96.0.9:80": []}
    assert Frontend("TCP", "127.96.0.9", 80) == ("TCP", "127.96.0.9", 80)
