"""The Node object says what it is, and that it is ready last."""

from __future__ import annotations

from forge.embedded.node import machine

MACHINE = machine.read("MemTotal:  2048 kB\nMemFree: 1 kB\n", 10 * 1024 * 1024, 4, "boot", "id")


def test_what_the_machine_offers() -> None:
    assert machine.capacity(MACHINE) == {
        "cpu": "4",
        "memory": "2048Ki",
        "ephemeral-storage": "10240Ki",
        "pods": "250",
    }


def test_the_node_is_ready_last_and_honest() -> None:
    status = machine.status("lab", "127.1.0.1", MACHINE, 6443, {}, "2026-06-01T12:00:00Z")
    assert status["conditions"][-1]["type"] == "Ready"
    assert status["conditions"][-1]["status"] == "True"
    assert status["nodeInfo"]["kubeletVersion"].endswith("+forge")
    assert "no isolation" in status["nodeInfo"]["osImage"]
    node = machine.node("lab", "127.1.0.1", "127.1.0.0/16", MACHINE)
    assert node["metadata"]["labels"][machine.EMBEDDED] == "true"


def test_conditions_keep_the_time_of_their_last_change() -> None:
    first = machine.status("lab", "127.1.0.1", MACHINE, 6443, {}, "2026-06-01T12:00:00Z")
    again = machine.status("lab", "127.1.0.1", MACHINE, 6443, first, "2026-06-01T13:00:00Z")
    ready = again["conditions"][-1]
    assert (ready["lastTransitionTime"], ready["lastHeartbeatTime"]) == (
        "2026-06-01T12:00:00Z",
        "2026-06-01T13:00:00Z",
    )
