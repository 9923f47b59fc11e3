"""The real kind drives the test node as it drives its own: create, load, restart, logs, delete."""

from __future__ import annotations

import json
import secrets
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge.host.engine import Engine
from tests.kind import fetch
from tests.kind.tool import Kind, Refused
from tests.kit import images

pytestmark = pytest.mark.docker

CONFIG = """
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
- role: worker
  labels: {tier: backend}
"""
METALLB = Path(__file__).parents[2] / "kind" / "metallb.yaml"
WEB = """
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: lab, namespace: metallb-system}
spec: {addresses: [ADDRESS/32]}
---
apiVersion: metallb.io/v1beta1
kind: L2Advertisement
metadata: {name: lab, namespace: metallb-system}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{port: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: praxis.test/web:1
        env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
        readinessProbe: {periodSeconds: 1, tcpSocket: {port: 8080}}
"""
UNREACHABLE = "node.kubernetes.io/unreachable"
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Made:
    """A cluster with one worker. suite: whose kind made it."""

    tool: Kind
    name: str
    suite: str

    def get(self, *words: str) -> Any:
        return self.tool.objects(*words, cluster=self.name)

    def apply(self, text: str) -> None:
        self.tool.kubectl("apply", "-f", "-", cluster=self.name, given=text)


@pytest.fixture(scope="module", params=[pytest.param(s, id=f"kind {v}") for s, v in fetch.SUITES.items()])
def cluster(
    request: pytest.FixtureRequest, kind_tool: Callable[[str], Kind], node_image: str
) -> Iterator[Made]:
    tool, name = kind_tool(request.param), f"k{secrets.token_hex(3)}"
    tool("create", "cluster", "--name", name, "--image", node_image, "--wait=60s", "--config=-", given=CONFIG)
    yield Made(tool, name, request.param)
    tool("delete", "cluster", "--name", name)
    assert tool("get", "clusters").split() == []
    assert tool.docker("ps", "-aq", "--filter", f"label=io.x-k8s.kind.cluster={name}") == ""


def test_kind_is_the_version_it_is_here_for(cluster: Made) -> None:
    assert f"v{fetch.SUITES[cluster.suite]}." in cluster.tool("version")


def test_both_nodes_are_ready_and_say_what_they_are(cluster: Made) -> None:
    nodes = {n["metadata"]["name"]: n for n in cluster.get("nodes")["items"]}
    assert set(nodes) == {f"{cluster.name}-control-plane", f"{cluster.name}-worker"}
    for node in nodes.values():
        assert node["status"]["conditions"][-1]["type"] == "Ready"
        assert node["status"]["conditions"][-1]["status"] == "True"
        assert node["metadata"]["labels"]["forge.praxis.dev/stand-in"] == "true"
        assert node["status"]["nodeInfo"]["kubeletVersion"].endswith("+forge")


def test_pods_can_go_to_the_control_plane_only(cluster: Made) -> None:
    taints = {n["metadata"]["name"]: n["spec"].get("taints") for n in cluster.get("nodes")["items"]}
    assert taints == {
        f"{cluster.name}-control-plane": None,
        f"{cluster.name}-worker": [
            {"key": "forge.praxis.dev/no-pods", "value": "stand-in", "effect": "NoSchedule"}
        ],
    }


def test_a_worker_has_the_labels_of_its_configuration(cluster: Made) -> None:
    assert cluster.get("node", f"{cluster.name}-worker")["metadata"]["labels"]["tier"] == "backend"


def test_the_version_says_that_this_is_a_stand_in(cluster: Made) -> None:
    answer = json.loads(cluster.tool.kubectl("get", "--raw=/version", cluster=cluster.name))
    assert answer["gitVersion"].endswith("+forge")


def test_it_lists_clusters_and_nodes(cluster: Made) -> None:
    assert cluster.tool("get", "clusters").split() == [cluster.name]
    nodes = cluster.tool("get", "nodes", "--name", cluster.name).split()
    assert sorted(nodes) == [f"{cluster.name}-control-plane", f"{cluster.name}-worker"]


def test_the_kubeconfigs_of_inside_and_outside_differ_in_the_address_alone(cluster: Made) -> None:
    outside = yaml.safe_load(cluster.tool("get", "kubeconfig", "--name", cluster.name))
    inside = yaml.safe_load(cluster.tool("get", "kubeconfig", "--internal", "--name", cluster.name))
    assert outside["clusters"][0]["cluster"].pop("server").startswith("https://127.0.0.1:")
    assert inside["clusters"][0]["cluster"].pop("server") == f"https://{cluster.name}-control-plane:6443"
    assert outside == inside


def test_the_internal_kubeconfig_works_from_another_node(cluster: Made) -> None:
    text = cluster.tool("get", "kubeconfig", "--internal", "--name", cluster.name)
    worker = f"{cluster.name}-worker"
    script = 'cat >/tmp/k <<"EOF"\n' + text + "\nEOF\nkubectl --kubeconfig /tmp/k get --raw=/readyz"
    assert cluster.tool.docker("exec", worker, "sh", "-c", script) == "ok"


def test_a_load_balancer_address_is_reached_from_outside_and_from_another_node(cluster: Made) -> None:
    cluster.apply(METALLB.read_text())
    address = f"{cluster.tool.subnet.rpartition('.')[0]}.200"
    cluster.apply(WEB.replace("ADDRESS", address))
    for what in ("-n=metallb-system deployment/controller", "deployment/web"):
        cluster.tool.kubectl("rollout", "status", "--timeout=60s", *what.split(), cluster=cluster.name)
    assert patiently(lambda: fetched(f"http://{address}:8080/")) == 200
    inside = f"import urllib.request as u; print(u.urlopen('http://{address}:8080/').status)"
    worker = f"{cluster.name}-worker"
    assert cluster.tool.docker("exec", worker, "python3", "-c", inside).strip() == "200"
    cluster.tool.kubectl("delete", "service", "web", cluster=cluster.name)
    node = f"{cluster.name}-control-plane"
    patiently(lambda: absent(f"{address}/", cluster.tool.docker("exec", node, "ip", "address")))


def test_names_of_services_are_resolved_in_the_control_plane(cluster: Made) -> None:
    cluster.tool.kubectl("create", "service", "clusterip", "named", "--tcp=80", cluster=cluster.name)
    address = cluster.get("service", "named")["spec"]["clusterIP"]
    resolved = "import socket, sys; print([socket.gethostbyname(n) for n in sys.argv[1:]])"
    names = ["named", "named.default", "named.default.svc.cluster.local", "kubernetes.default.svc"]
    node, worker = f"{cluster.name}-control-plane", f"{cluster.name}-worker"
    said = cluster.tool.docker("exec", node, "python3", "-c", resolved, *names, worker)
    api = cluster.get("service", "kubernetes")["spec"]["clusterIP"]
    told = cluster.get("node", worker)["status"]["addresses"][0]["address"]
    assert said.strip() == str([address, address, address, api, told])


def test_an_image_that_no_command_is_mapped_to_is_said_so(cluster: Made) -> None:
    cluster.tool.kubectl("run", "stranger", "--image=praxis.test/unknown:1", cluster=cluster.name)

    def reason() -> str:
        found = cluster.get("pod", "stranger")["status"].get("containerStatuses") or [{}]
        waiting = found[0].get("state", {}).get("waiting", {})
        if waiting.get("reason") not in ("ErrImagePull", "ImagePullBackOff"):
            raise NotYet(str(waiting))
        return str(waiting["message"])

    assert 'no process is mapped to image "praxis.test/unknown:1"' in patiently(reason)


def test_an_image_is_loaded_into_every_node_once(cluster: Made, docker: Engine, tmp_path: Path) -> None:
    tag = f"praxis.test/loaded:{secrets.token_hex(3)}"
    identity = tiny(docker, tag, tmp_path)
    cluster.tool("load", "docker-image", tag, "--name", cluster.name)
    for node in ("control-plane", "worker"):
        assert loaded(cluster, node, tag) == identity
    cluster.tool("load", "docker-image", tag, "--name", cluster.name)  # it sees that they have it


def test_an_archive_is_loaded(cluster: Made, docker: Engine, tmp_path: Path) -> None:
    tag = f"praxis.test/archived:{secrets.token_hex(3)}"
    identity = tiny(docker, tag, tmp_path)
    cluster.tool.docker("save", "-o", str(tmp_path / "image.tar"), tag)
    cluster.tool("load", "image-archive", str(tmp_path / "image.tar"), "--name", cluster.name)
    assert loaded(cluster, "control-plane", tag) == identity


def test_an_image_that_was_not_loaded_is_not_there(cluster: Made) -> None:
    with pytest.raises(Refused, match="no such image"):
        loaded(cluster, "worker", "praxis.test/never:1")


def test_a_worker_that_stopped_is_unknown_until_it_is_back(cluster: Made) -> None:
    worker = f"{cluster.name}-worker"
    assert ready(cluster, worker) == "True"
    cluster.tool.docker("stop", "--time=5", worker)
    patiently(lambda: expect(ready(cluster, worker), "Unknown"))
    assert UNREACHABLE in taints(cluster, worker)
    assert ready(cluster, f"{cluster.name}-control-plane") == "True"
    cluster.tool.docker("start", worker)
    patiently(lambda: expect(ready(cluster, worker), "True"))
    patiently(lambda: absent(UNREACHABLE, " ".join(taints(cluster, worker))))


def test_a_node_tells_its_container_s_address(cluster: Made) -> None:
    for node in ("control-plane", "worker"):
        name = f"{cluster.name}-{node}"
        template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        address = cluster.tool.docker("inspect", "--format", template, name).strip()
        told = cluster.get("node", name)["status"]["addresses"]
        assert {"type": "InternalIP", "address": address} in told


def test_objects_outlive_a_restart_of_the_node(cluster: Made) -> None:
    cluster.tool.kubectl("create", "configmap", "kept", "--from-literal=a=b", cluster=cluster.name)
    before = cluster.get("configmap", "kept")
    cluster.tool.docker("restart", f"{cluster.name}-control-plane")
    assert patiently(lambda: cluster.get("configmap", "kept")) == before


def test_a_daemon_that_is_killed_is_started_again_and_has_lost_nothing(cluster: Made) -> None:
    cluster.tool.kubectl("create", "configmap", "written", "--from-literal=a=b", cluster=cluster.name)
    before = cluster.get("configmap", "written")
    node = f"{cluster.name}-control-plane"
    cluster.tool.docker("exec", node, "bash", "-c", "kill -9 $(cat /var/lib/forge/cluster/pid)")
    assert patiently(lambda: cluster.get("configmap", "written")) == before
    assert "forge.embedded ended; it is started again" in cluster.tool.docker("logs", node)


def test_logs_are_exported(cluster: Made, tmp_path: Path) -> None:
    cluster.tool("export", "logs", str(tmp_path / "logs"), "--name", cluster.name)
    control_plane = tmp_path / "logs" / f"{cluster.name}-control-plane"
    assert "cluster started" in (control_plane / "kubelet.log").read_text()
    assert (control_plane / "kubernetes-version.txt").read_text().endswith("+forge")
    assert "a stand-in without systemd" in (control_plane / "containerd.log").read_text()


def test_two_clusters_are_made_at_once_and_know_nothing_of_each_other(
    kind_tool: Callable[[str], Kind], node_image: str
) -> None:
    tools = {f"k{secrets.token_hex(3)}": kind_tool("trixie") for _ in range(2)}

    def create(name: str) -> None:
        tools[name]("create", "cluster", "--name", name, "--image", node_image, "--wait=60s")

    with ThreadPoolExecutor(2) as both:
        list(both.map(create, tools))
    for name, tool in tools.items():
        tool.kubectl("create", "configmap", f"of-{name}", cluster=name)
    one, other = tools
    found = tools[one].objects("configmaps", cluster=one)["items"]
    assert [c["metadata"]["name"] for c in found if c["metadata"]["name"].startswith("of-")] == [f"of-{one}"]
    tools[one]("delete", "cluster", "--name", one)
    assert tools[other].kubectl("get", "--raw=/readyz", cluster=other) == "ok"
    tools[other]("delete", "cluster", "--name", other)


def tiny(engine: Engine, tag: str, folder: Path) -> str:
    """Makes an image of a few bytes; gives its id."""
    (folder / "content").write_text(tag)
    images.import_tree(engine, tag, images.tar({"/content": folder / "content"}))
    return str(engine.get(f"/images/{tag}/json")["Id"])


def loaded(cluster: Made, node: str, tag: str) -> str:
    """The id of an image in a node. Raises Refused when it is not there."""
    text = cluster.tool.docker("exec", f"{cluster.name}-{node}", "crictl", "inspecti", tag)
    return str(json.loads(text)["status"]["id"])


def ready(cluster: Made, node: str) -> str:
    """The status of its condition."""
    conditions = cluster.get("node", node)["status"]["conditions"]
    return next(str(c["status"]) for c in conditions if c["type"] == "Ready")


def taints(cluster: Made, node: str) -> list[str]:
    """The keys."""
    return [str(taint["key"]) for taint in cluster.get("node", node)["spec"].get("taints") or ()]


class NotYet(Exception):
    """What is looked for is not there so far."""


def fetched(url: str) -> int:
    """The status that answers. Raises OSError."""
    with urllib.request.urlopen(url, timeout=5.0) as answer:
        return int(answer.status)


def expect(seen: str, wanted: str) -> None:
    """Raises NotYet unless they are equal."""
    if seen != wanted:
        raise NotYet(f"{seen} is not {wanted}")


def absent(word: str, text: str) -> None:
    """Raises NotYet while the text has the word."""
    if word in text:
        raise NotYet(f"{word} in: {text}")


def patiently(look: Callable[[], Any]) -> Any:
    """What *look* gives once it is not refused any more."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return look()
        except (Refused, NotYet, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
