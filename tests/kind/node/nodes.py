"""The Node objects of a test cluster: what a real one would carry, and what this one honestly is."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forge.embedded.api.plain import GIT_VERSION
from tests.kind.node.kubectl import Failed, Kubectl

STAND_IN = "forge.praxis.dev/stand-in"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NO_PODS = "forge.praxis.dev/no-pods"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def control_plane(name: str, address: str, labels: Mapping[str, str]) -> Any:
    """Tainted as kubeadm does; kind takes the taint off when this is the only node."""
    outside = "node.kubernetes.io/exclude-from-external-load-balancers"
    own = {CONTROL_PLANE: "", outside: ""}
    said = {f"{STAND_IN}-address": address}
    return _node(name, {**labels, **own}, said, {"key": CONTROL_PLANE, "effect": "NoSchedule"})


def worker(name: str, labels: Mapping[str, str]) -> Any:
    said = {NO_PODS: "this node runs nothing: pods are processes of the control plane's container"}
    taint = {"key": NO_PODS, "value": "stand-in", "effect": "NoSchedule"}
    return _node(name, labels, said, taint)


def _node(name: str, labels: Mapping[str, str], said: Mapping[str, str], taint: Mapping[str, str]) -> Any:
    machine = _ARCHITECTURES.get(platform.machine(), platform.machine())
    known = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine,
        STAND_IN: "true",
    }
    meta = {"name": name, "labels": {**known, **labels}, "annotations": said}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": [taint]}}


def status(name: str, address: str) -> Any:
    """Ready comes last: that is where kind looks."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "a stand-in that runs nothing renews its Lease",
    }
    return {
        "conditions": [ready],
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
            "bootID": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "containerRuntimeVersion": "forge-stand-in://1",
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": GIT_VERSION,
            "machineID": name,
            "operatingSystem": "linux",
            "osImage": "Praxis Forge test node (no kubelet, no isolation)",
            "systemUUID": name,
        },
        "capacity": {"cpu": str(os.cpu_count() or 1), "pods": "0"},
        "allocatable": {"cpu": str(os.cpu_count() or 1), "pods": "0"},
    }


def register(client: Kubectl, node: Any, first: Any) -> None:
    """Makes the Node with the status *first*, or adds labels and taints to the one a kubelet made,
    which keeps its own status. Raises Failed."""
    with suppress(Failed):  # it is there already
        client("create", "--raw=/api/v1/nodes", "-f", "-", given=[{**node, "status": first}])
        return
    client("apply", "--server-side", "--force-conflicts", "--field-manager=kubeadm", "-f", "-", given=[node])


def free_control_plane(client: Kubectl) -> None:
    """Takes kubeadm's taint off the control plane: here it is the one node where pods can run. Another
    worker may join at the same moment, and do it first."""
    for name in _tainted(client):
        try:
            client("taint", "node", name, f"{CONTROL_PLANE}-")
        except Failed:
            if name in _tainted(client):
                raise


def _tainted(client: Kubectl) -> list[str]:
    listed = json.loads(client("get", "nodes", "-l", CONTROL_PLANE, "-o", "json"))
    return [
        node["metadata"]["name"]
        for node in listed["items"]
        if any(taint["key"] == CONTROL_PLANE for taint in node["spec"].get("taints") or ())
    ]
