"""A node that stops renewing its Lease is not Ready any more; one that never had any is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.node.lifecycle import NOT_READY, UNREACHABLE, Lifecycle
from tests.kit.embedded_machine import Machine

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
TAINT = {"key": "lab.test/kept", "effect": "NoSchedule"}


class Nodes:
    """One worker, its Lease of ten seconds, and the controller, on a clock of its own."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.now = 0.0
        self.controller = Lifecycle(machine.cluster, monotonic=lambda: self.now)
        machine.made(NODES, {"metadata": {"name": "worker"}, "spec": {"taints": [TAINT]}})
        self.say("True")

    def say(self, ready: str) -> None:
        conditions = [{"type": kind, "status": ready} for kind in ("DiskPressure", "Ready")]
        self.machine.call("PATCH", f"{NODES}/worker/status", {"status": {"conditions": conditions}})

    def renew(self, mark: int) -> None:
        spec = {"holderIdentity": "worker", "leaseDurationSeconds": 10}
        spec["renewTime"] = f"2030-01-01T00:00:{mark:02}.000000Z"
        if self.machine.there(f"{LEASES}/worker"):
            self.machine.call("PATCH", f"{LEASES}/worker", {"spec": spec})
        else:
            self.machine.made(LEASES, {"metadata": {"name": "worker"}, "spec": spec})

    def step(self, now: float) -> float | None:
        self.now = now
        return self.controller.step()

    def seen(self) -> tuple[list[str], list[str]]:
        """(the conditions' words, the taints' keys)."""
        node: dict[str, Any] = self.machine.call("GET", f"{NODES}/worker")[1]
        taints = [str(taint["key"]) for taint in node["spec"]["taints"]]
        return [str(c["status"]) for c in node["status"]["conditions"]], taints


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    machine = Machine(tmp_path / "store")
    yield Nodes(machine)
    machine.journal.close()


def test_a_node_without_a_lease_is_believed(nodes: Nodes) -> None:
    assert nodes.step(1000) is None
    assert nodes.seen() == (["True", "True"], ["lab.test/kept"])
    nodes.say("False")
    nodes.step(1001)
    assert nodes.seen() == (["False", "False"], ["lab.test/kept", NOT_READY])


def test_a_lease_is_waited_for_as_long_as_it_says(nodes: Nodes) -> None:
    nodes.renew(1)
    assert nodes.step(5) == 10
    assert nodes.step(9) == 6
    nodes.renew(2)
    assert nodes.step(14) == 10
    assert nodes.seen() == (["True", "True"], ["lab.test/kept"])


def test_a_node_that_stopped_is_unknown_and_tainted_once(nodes: Nodes) -> None:
    nodes.renew(1)
    nodes.step(0)
    assert nodes.step(10) is None
    assert nodes.seen() == (["Unknown", "Unknown"], ["lab.test/kept", UNREACHABLE])
    version = nodes.machine.cluster.store.version
    nodes.step(11)
    assert nodes.machine.cluster.store.version == version


def test_a_node_that_is_back_says_so_itself_and_loses_the_taint(nodes: Nodes) -> None:
    nodes.renew(1)
    nodes.step(0)
    nodes.step(10)
    nodes.renew(2)
    nodes.step(11)
    assert nodes.seen() == (["Unknown", "Unknown"], ["lab.test/kept", UNREACHABLE])
    nodes.say("True")
    nodes.step(12)
    assert nodes.seen() == (["True", "True"], ["lab.test/kept"])


def test_a_lease_of_no_node_is_nothing(nodes: Nodes) -> None:
    nodes.renew(1)
    nodes.machine.call("DELETE", f"{NODES}/worker")
    assert nodes.step(100) is None
