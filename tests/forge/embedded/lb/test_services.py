"""Services of a running cluster, reached on their addresses."""

from __future__ import annotations

import json
import socket
from typing import Any

from tests.kit.embedded_cluster import definition
from tests.kit.embedded_node import PORT, EmbeddedNode, deployment, eventually, fetch, pod, server, service


def _addresses(node: EmbeddedNode, app: str) -> set[str]:
    return set(node.kubectl(f"get pods -l app={app} -o jsonpath={{.items[*].status.podIP}}").split())


def _balanced(node: EmbeddedNode, name: str) -> str:
    return node.kubectl(f"get svc {name} -o jsonpath={{.status.loadBalancer.ingress[*].ip}}")


def test_a_cluster_address_is_shared_by_the_ready_pods(node: EmbeddedNode) -> None:
    node.apply(deployment("web", 2, server()), service("web", "web"))
    node.kubectl("rollout status deploy/web --timeout=30s")
    address = node.kubectl("get svc web -o jsonpath={.spec.clusterIP}")
    answers: set[str] = set()

    def seen() -> set[str]:
        answers.add(fetch(address))
        return answers - {"refused"}

    assert eventually(seen, lambda found: len(found) == 2) == _addresses(node, "web")
    for pod_address in _addresses(node, "web"):
        assert f"{pod_address}:{PORT}" in node.kubectl("get endpoints web")
    node.kubectl("scale deploy/web --replicas=0")
    eventually(lambda: fetch(address), "refused".__eq__)


def test_a_balanced_address_is_given_reached_and_given_back(node: EmbeddedNode) -> None:
    first, last = f"{node.balanced}.10", f"{node.balanced}.12"
    node.apply(pod("one", server()), *(service(f"b{i}", "one", type="LoadBalancer") for i in range(4)))
    node.kubectl("wait --for=condition=Ready pod/one --timeout=30s")
    given = eventually(
        lambda: [_balanced(node, f"b{i}") for i in range(4)], lambda found: sum(map(bool, found)) == 3
    )
    assert min(filter(None, given)) == first
    assert len(set(filter(None, given))) == 3
    eventually(lambda: fetch(last), _addresses(node, "one").__contains__)
    left = given.index("")
    assert "no available IPs" in node.kubectl(f"get events --field-selector involvedObject.name=b{left}")
    node.kubectl(f"delete svc b{(left + 1) % 4}")
    eventually(lambda: _balanced(node, f"b{left}"), bool)
    node.kubectl("delete svc b0 b1 b2 b3 --ignore-not-found")
    eventually(lambda: fetch(last), "refused".__eq__)


def test_a_remade_service_leads_to_its_new_pods(node: EmbeddedNode) -> None:
    node.apply(pod("old", server()), pod("new", server()), service("moves", "old", type="LoadBalancer"))
    node.kubectl("wait --for=condition=Ready pod/old pod/new --timeout=30s")
    address = eventually(lambda: _balanced(node, "moves"), bool)
    eventually(lambda: fetch(address), _addresses(node, "old").__contains__)
    node.kubectl("delete svc moves")
    node.apply(service("moves", "new", type="LoadBalancer"))
    address = eventually(lambda: _balanced(node, "moves"), bool)
    eventually(lambda: fetch(address), _addresses(node, "new").__contains__)
    node.kubectl("delete svc moves")


def test_a_service_is_gone_with_its_slices(node: EmbeddedNode) -> None:
    """In the foreground: it is held until they are, and they are not made again meanwhile."""
    node.apply(pod("held", server()), service("held", "held"))
    node.kubectl("wait --for=condition=Ready pod/held --timeout=30s")
    node.until("get endpointslices -l kubernetes.io/service-name=held -o name", "held")
    node.kubectl("delete service held --cascade=foreground --timeout=30s")
    assert node.kubectl("get endpointslices -l kubernetes.io/service-name=held -o name") == ""
    node.kubectl("delete pod held")


def test_expose_and_node_ports(node: EmbeddedNode) -> None:
    node.apply(pod("shown", server()))
    node.kubectl("wait --for=condition=Ready pod/shown --timeout=30s")
    node.kubectl(f"expose pod shown --port={PORT} --type=NodePort")
    number = int(node.kubectl("get svc shown -o jsonpath={.spec.ports[0].nodePort}"))
    host = node.kubectl("get node lab -o jsonpath={.status.addresses[0].address}")
    eventually(lambda: fetch(host, number), _addresses(node, "shown").__contains__)


def test_datagrams_are_passed_on(node: EmbeddedNode) -> None:
    node.apply(pod("talks", server()), service("talks", "talks", protocol="UDP"))
    node.kubectl("wait --for=condition=Ready pod/talks --timeout=30s")
    address = node.kubectl("get svc talks -o jsonpath={.spec.clusterIP}")

    def ask() -> str:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(1)
            try:
                one.connect((address, PORT))
                one.send(b"hello")
                return one.recv(1000).decode()
            except OSError:
                return ""

    assert eventually(ask, bool) == f"{_addresses(node, 'talks').pop()} hello"


def test_pods_know_the_services_that_were_there_before_them(node: EmbeddedNode) -> None:
    node.apply(service("before-me", "nobody"))
    node.apply(pod("knows", server()))
    node.kubectl("wait --for=condition=Ready pod/knows --timeout=30s")
    address = _addresses(node, "knows").pop()
    wanted = node.kubectl("get svc before-me -o jsonpath={.spec.clusterIP}")
    assert fetch(address, path="/env/BEFORE_ME_SERVICE_HOST") == wanted
    assert fetch(address, path="/env/KUBERNETES_SERVICE_PORT") == "443"


def _metallb(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": name, "namespace": "metallb-system"}
    return {"apiVersion": "metallb.io/v1beta1", "kind": kind, "metadata": meta, "spec": spec}


def _crd(plural: str, kind: str) -> dict[str, Any]:
    document = json.loads(
        json.dumps(
            definition(
                plural,
                kind,
                {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                },
            )
        ).replace("lab.test", "metallb.io")
    )
    document["spec"]["versions"][0]["name"] = "v1beta1"
    found: dict[str, Any] = document
    return found


def test_pools_may_be_objects_of_metallb(node: EmbeddedNode) -> None:
    node.apply(_crd("ipaddresspools", "IPAddressPool"), _crd("l2advertisements", "L2Advertisement"))
    node.kubectl("wait --for=condition=Established crd ipaddresspools.metallb.io l2advertisements.metallb.io")
    node.kubectl("create namespace metallb-system")
    address = f"{node.block}.201.7"
    node.apply(_metallb("IPAddressPool", "lab", {"addresses": [f"{address}/32"]}))
    named = service("named", "pooled", type="LoadBalancer")
    named["metadata"]["annotations"] = {"metallb.io/address-pool": "lab"}
    node.apply(pod("pooled", server()), named)
    node.kubectl("wait --for=condition=Ready pod/pooled --timeout=30s")
    eventually(lambda: _balanced(node, "named"), address.__eq__)
    assert fetch(address) == "refused"
    node.apply(_metallb("L2Advertisement", "lab", {"ipAddressPools": ["lab"]}))
    eventually(lambda: fetch(address), _addresses(node, "pooled").__contains__)
    node.kubectl("delete ipaddresspool lab -n metallb-system")
    eventually(lambda: fetch(address), "refused".__eq__)
