"""The base as a lab applies it: file after file in the order of their names, on a cluster that runs it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.certs import Authority, Leaf
from tests.kit.embedded_node import KUBECTL, EmbeddedNode, eventually, running_node
from tests.kit.resources import gateway, network, provider, site

DEPLOY = Path(__file__).parents[3] / "grid" / "deploy"
SYSTEM = "-n grid-system"
OVERLAY = f"configmap grid-overlay-production-edge-us-east {SYSTEM}"
# The lab's own timings.
LAB: dict[str, Any] = {
    "swim": {"probeInterval": "300ms", "suspicionTimeout": "1500ms"},
    "metricsRefreshInterval": "1s",
    "tls": {"swimKeyRef": {"namespace": "grid-system", "name": "grid-swim-key"}},
    "admissionPolicy": {"pressure": {"minimumStateDuration": "1s", "recoveryHoldDown": "3s"}},
}

pytestmark = pytest.mark.skipif(not KUBECTL, reason="no kubectl on this machine")


def secret(name: str, **data: bytes) -> dict[str, Any]:
    """A Secret; `tls_crt` is its key `tls.crt`."""
    held = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": "grid-system"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": held}


def place(**env: str) -> dict[str, Any]:
    metadata = {"name": "grid-operator-env", "namespace": "grid-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": env}


def declare(node: EmbeddedNode, *resources: dict[str, Any]) -> None:
    """Applied as a person writes them: without what the server keeps."""
    node.apply(*({**made, "metadata": {"name": made["metadata"]["name"]}} for made in resources))


def put_identity(node: EmbeddedNode, authority: Authority, leaf: Leaf) -> None:
    files = {"tls_crt": leaf.certificate, "tls_key": leaf.key, "ca_crt": authority.path}
    node.apply(secret("site-tls", **{key: path.read_bytes() for key, path in files.items()}))


def pinned(leaf: Leaf) -> dict[str, Any]:
    return {"canonicalFingerprints": [hashlib.sha256(leaf.der).hexdigest()]}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[EmbeddedNode]:
    """A cluster where the base was applied before anything it needs, and two operators run by now."""
    with running_node(tmp_path_factory.mktemp("node")) as started:
        started.map_images({"praxis-grid/praxis:dev": []})
        for file in sorted(DEPLOY.rglob("*.yaml")):
            if file.name != "kustomization.yaml":
                started.kubectl(f"apply --server-side --field-manager=lab -f {file}")
        leaf = authority.leaf("edge-control")
        put_identity(started, authority, leaf)
        started.apply(secret("grid-swim-key", key=os.urandom(32)))
        started.apply(place(GRID_SITE="edge-control", GRID_LEASE_S="3"))
        started.until(f"get deployment grid-operator {SYSTEM} -o jsonpath={{.status.availableReplicas}}", "2")
        declare(
            started,
            site("edge-control", role="edge", trust=pinned(leaf)),
            site("edge-us-east", role="edge"),
            provider("sim"),
            network("production", gateway("edge-us-east", maxAge="30s"), **LAB),
        )
        started.until(f"get configmaps {SYSTEM} -o json", "gateway-edge-control")
        yield started


def holder(node: EmbeddedNode) -> str:
    """The pod that leads."""
    said = node.kubectl(f"get lease grid-operator {SYSTEM} -o jsonpath={{.spec.holderIdentity}}")
    return said.rpartition("-")[0]


def marked(node: EmbeddedNode) -> list[str]:
    """The pods that other sites reach."""
    said = node.kubectl(f"get pods {SYSTEM} -l grid.praxis-proxy.io/mesh=leader -o json")
    return [pod["metadata"]["name"] for pod in json.loads(said)["items"]]


def revision(node: EmbeddedNode) -> int:
    text = json.loads(node.kubectl(f"get {OVERLAY} -o json"))["data"]["grid-config.json"]
    return int(json.loads(text)["revision"])


def condition(node: EmbeddedNode, kind: str, name: str, type_: str) -> tuple[str, str]:
    """Its reason and message, empty while it is not there."""
    found = json.loads(node.kubectl(f"get {kind} {name} -o json")).get("status", {}).get("conditions", [])
    return next(((c["reason"], c["message"]) for c in found if c["type"] == type_), ("", ""))


def test_what_its_place_is_made_of_is_believed(node: EmbeddedNode) -> None:
    eventually(
        lambda: condition(node, "gsite", "edge-control", "Ready")[0], lambda r: r == "IdentityVerified"
    )
    eventually(lambda: condition(node, "gnet", "production", "MeshRunning")[0], lambda r: r == "Running")
    assert condition(node, "gnet", "production", "SpecHonoured") == ("AllHonoured", "")
    assert marked(node) == [holder(node)]


def test_the_leader_is_found_and_explains(node: EmbeddedNode) -> None:
    words = ("explain", "--network", "production", "--gateway", "edge-us-east")
    done = subprocess.run(
        [sys.executable, "-m", "grid.reconcile.main", "--kubeconfig", str(node.cluster.kubeconfig), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "edge-control by gateway-edge-control: new_and_existing (open)" in done.stdout


def test_the_leader_gone_the_other_goes_on_where_it_was(node: EmbeddedNode) -> None:
    before, leader = revision(node), holder(node)
    node.kubectl(f"delete pod {leader} {SYSTEM} --force --grace-period=0")
    eventually(lambda: holder(node), lambda found: found not in {"", leader})
    eventually(lambda: marked(node) == [holder(node)], bool)
    assert revision(node) == before
    node.until(f"get deployment grid-operator {SYSTEM} -o jsonpath={{.status.availableReplicas}}", "2")


def test_one_replica_is_enough(node: EmbeddedNode) -> None:
    node.kubectl(f"scale deployment/grid-operator --replicas=1 {SYSTEM}")
    pods = f"get pods {SYSTEM} -l app.kubernetes.io/name=grid-operator -o json"
    (left,) = eventually(lambda: json.loads(node.kubectl(pods))["items"], lambda found: len(found) == 1)
    eventually(lambda: holder(node), lambda found: found == left["metadata"]["name"])
    before = revision(node)
    declare(node, provider("sim", trafficPolicy={"drain": "all"}))
    eventually(lambda: revision(node), lambda found: found == before + 1)
    declare(node, provider("sim", trafficPolicy={"drain": "none"}))
    eventually(lambda: revision(node), lambda found: found > before + 1)


def test_a_key_where_the_certificate_belongs_is_refused_and_told_to_nobody(
    node: EmbeddedNode, authority: Authority
) -> None:
    leaf = authority.leaf("edge-control", file="swapped")
    node.apply(
        secret(
            "site-tls",
            tls_crt=leaf.key.read_bytes(),
            tls_key=leaf.key.read_bytes(),
            ca_crt=authority.path.read_bytes(),
        )
    )
    reason, _ = eventually(
        lambda: condition(node, "gsite", "edge-control", "Ready"), lambda found: "private key" in found[1]
    )
    assert reason == "TrustMaterialInvalid"
    key = leaf.key.read_text().splitlines()[1]
    told = (
        node.kubectl("get gnet,gsite,iprov,events,configmaps -A -o json"),
        node.kubectl(f"logs {SYSTEM} -l app.kubernetes.io/name=grid-operator --tail=-1"),
    )
    assert [text for text in told if key in text] == []
    renewed = authority.leaf("edge-control", file="renewed")
    put_identity(node, authority, renewed)
    declare(node, site("edge-control", role="edge", trust=pinned(renewed)))
    eventually(
        lambda: condition(node, "gsite", "edge-control", "Ready")[0], lambda r: r == "IdentityVerified"
    )
    assert node.kubectl(f"get secret {SYSTEM} -o name").splitlines() == [
        "secret/grid-swim-key",
        "secret/site-tls",
    ]
