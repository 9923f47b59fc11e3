"""What `grid/deploy` deploys is one grid: three clusters, pods behind load balancers, and a leader that hands over."""

from __future__ import annotations

import base64
import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kit.certs import Authority, Leaf
from tests.kit.embedded_node import EmbeddedNode, eventually, running_node
from tests.kit.grids import CONTROL, EAST, KEY, REGIONS, WEST, network_spec, pins
from tests.kit.operators import identity

DEPLOY = Path(__file__).parents[2] / "grid" / "deploy"
API = "grid.praxis-proxy.io/v1alpha1"
LABEL = "grid.praxis-proxy.io/mesh=leader"

GATEWAY = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "provider-gateway", "namespace": "grid-system"},
    "spec": {
        "type": "LoadBalancer",
        "selector": {"app": "gateway"},
        "ports": [{"port": 8443, "targetPort": 8443}],
    },
}

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")


def resource(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def secret(name: str, **data: bytes) -> dict[str, Any]:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": "grid-system"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}


@dataclass
class Cluster:
    """One cluster with the deployment in it. address: of its mesh's load balancer."""

    site: str
    node: EmbeddedNode
    address: str = ""

    def system(self, command: str) -> str:
        return self.node.kubectl(f"-n grid-system {command}")

    def leader(self) -> str:
        """The pods that are marked, by name."""
        return self.system(f"get pods -l {LABEL} -o 'jsonpath={{.items[*].metadata.name}}'")

    def phase(self, site: str) -> str:
        return self.node.kubectl(f"get gsite {site} -o 'jsonpath={{.status.phase}}'")

    def membership(self, site: str) -> str:
        path = '{.status.conditions[?(@.type=="MemberAlive")].reason}'
        return self.node.kubectl(f"get gsite {site} -o 'jsonpath={path}'")

    def gateway(self, site: str) -> str:
        return self.node.kubectl(f"get gsite {site} -o 'jsonpath={{.spec.gatewayEndpoint.address}}'")


def prepare(cluster: Cluster, authority: Authority, leaf: Leaf, folder: Path) -> None:
    """All but what needs every cluster's address."""
    files = identity(folder, authority, leaf)
    cluster.node.map_images({"praxis-grid/praxis:dev": []})
    cluster.node.kubectl(f"apply -k {DEPLOY}")
    if cluster.site != CONTROL:
        cluster.system("scale deployment grid-operator --replicas=1")
    tls = {name: (files / name).read_bytes() for name in ("tls.crt", "tls.key", "ca.crt")}
    cluster.node.apply(secret("grid-swim-key", key=KEY), secret("site-tls", **tls))
    ip = "get service grid-swim -o 'jsonpath={.status.loadBalancer.ingress[0].ip}'"
    cluster.address = f"{eventually(lambda: cluster.system(ip), bool)}:7946"
    data = {"GRID_SITE": cluster.site, "GRID_SWIM_ADVERTISE": cluster.address, "GRID_LEASE_S": "3"}
    if cluster.site == WEST:
        data["GRID_GATEWAY_SERVICE"] = "grid-system/provider-gateway:8443"
        cluster.node.apply(GATEWAY)
    metadata = {"name": "grid-operator-env", "namespace": "grid-system"}
    cluster.node.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[dict[str, Cluster]]:
    authority = Authority(tmp_path)
    leaves = {name: authority.leaf(name, names=(f"{name}.grid.internal",)) for name in REGIONS}
    with contextlib.ExitStack() as stack:
        for site in (EAST, WEST, CONTROL):
            (tmp_path / site).mkdir()
        made = {
            site: Cluster(site, stack.enter_context(running_node(tmp_path / site)))
            for site in (EAST, WEST, CONTROL)
        }
        for site, cluster in made.items():
            prepare(cluster, authority, leaves[site], tmp_path / f"{site}-tls")
        seeds = [cluster.address for cluster in made.values()]
        for site, cluster in made.items():
            spec = network_spec(*seeds, gateways=site == CONTROL)
            cluster.node.apply(resource("GridNetwork", "production", spec))
            for name, region in REGIONS.items():
                role = "provider" if name in (EAST, WEST) else "edge"
                declared = {"gridNetworkRef": "production", "role": role, "region": region}
                cluster.node.apply(resource("GridSite", name, {**declared, "trust": pins(leaves[name])}))
        yield made


def test_what_is_deployed_is_one_grid(clusters: dict[str, Cluster]) -> None:
    control, west = clusters[CONTROL], clusters[WEST]
    for cluster in clusters.values():
        assert " " not in eventually(cluster.leader, bool), "one pod is marked"
    for site in (EAST, WEST):
        eventually(lambda site=site: control.membership(site), lambda seen: seen == "Alive")  # type: ignore[misc]
    eventually(lambda: control.phase(CONTROL), lambda seen: seen == "Active")

    ip = west.system("get service provider-gateway -o 'jsonpath={.status.loadBalancer.ingress[0].ip}'")
    for cluster in (west, control):
        eventually(lambda cluster=cluster: cluster.gateway(WEST), lambda seen: seen == f"{ip}:8443")  # type: ignore[misc]

    first = control.leader()
    control.system(f"delete pod {first} --wait=false")
    west.node.kubectl("delete gridnetwork production")
    second = eventually(control.leader, lambda seen: seen not in {"", first})
    assert " " not in second
    assert clusters[EAST].membership(CONTROL) in {"Alive", "Suspect"}, "a handover is no goodbye"

    eventually(lambda: control.membership(WEST), lambda seen: seen == "Left")
    eventually(lambda: control.phase(WEST), lambda seen: seen == "Left")
    eventually(lambda: clusters[EAST].membership(CONTROL), lambda seen: seen == "Alive")
