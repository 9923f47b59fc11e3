"""The Node object: what this machine offers, and what it honestly is. Pure."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from forge.embedded.api.plain import GIT_VERSION
from forge.embedded.api.values import Json

EMBEDDED = "forge.praxis.dev/embedded"
_PODS = "250"
_ROLE = "node-role.kubernetes.io/control-plane"


@dataclass(frozen=True, slots=True)
class Machine:
    """memory_kib, disk_kib: in all. boot, identity: the kernel's and the machine's ids."""

    processors: int
    memory_kib: int
    disk_kib: int
    kernel: str
    architecture: str
    boot: str
    identity: str


def read(memory: str, disk_bytes: int, processors: int, boot: str, identity: str) -> Machine:
    """memory: the text of /proc/meminfo."""
    words = next((line.split() for line in memory.splitlines() if line.startswith("MemTotal:")), ["", "0"])
    names = {"x86_64": "amd64", "aarch64": "arm64"}
    return Machine(
        processors,
        int(words[1]),
        disk_bytes // 1024,
        platform.release(),
        names.get(platform.machine(), platform.machine()),
        boot,
        identity,
    )


def node(name: str, address: str, cidr: str, machine: Machine) -> Json:
    """A new Node object, without its status."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": machine.architecture,
        _ROLE: "",
        EMBEDDED: "true",
    }
    said = "pods are processes of this machine, without any isolation; this is no kubelet"
    meta = {"name": name, "labels": labels, "annotations": {f"{EMBEDDED}-node": said}}
    spec = {"podCIDR": cidr, "podCIDRs": [cidr], "providerID": f"forge://{address}/{name}"}
    return {"kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": spec}


def status(name: str, address: str, machine: Machine, port: int, before: Json, now: str) -> Json:
    """Ready comes last: that is where `kind` looks. before: the status so far."""
    room = capacity(machine)
    return {
        "capacity": room,
        "allocatable": room,
        "conditions": _conditions(before, now),
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "machineID": machine.identity,
            "systemUUID": machine.identity,
            "bootID": machine.boot,
            "kernelVersion": machine.kernel,
            "osImage": "Forge embedded (processes, no isolation)",
            "containerRuntimeVersion": "forge-process://1",
            "kubeletVersion": GIT_VERSION,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": machine.architecture,
        },
    }


def capacity(machine: Machine) -> Json:
    return {
        "cpu": str(machine.processors),
        "memory": f"{machine.memory_kib}Ki",
        "ephemeral-storage": f"{machine.disk_kib}Ki",
        "pods": _PODS,
    }


def _conditions(before: Json, now: str) -> list[Json]:
    rows = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "memory is not watched by this node"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "disk is not watched by this node"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "process ids are not watched by this node"),
        ("Ready", "True", "KubeletReady", "forge's process node is posting ready status"),
    )
    held = {c.get("type"): c for c in before.get("conditions") or []}
    return [_condition(row, held.get(row[0], {}), now) for row in rows]


def _condition(row: tuple[str, str, str, str], old: Json, now: str) -> Json:
    kind, word, reason, message = row
    at = old.get("lastTransitionTime") if old.get("status") == word else now
    return {
        "type": kind,
        "status": word,
        "lastHeartbeatTime": now,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }
