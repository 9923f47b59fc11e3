"""What is done with a container next, and how it is told."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.node import containers
from forge.embedded.node.containers import Memory, Next
from forge.embedded.process.spec import Phase, Status

NOW = 1_780_000_000.0
CONTAINER = {"name": "c", "image": "app:1"}


def status(phase: Phase, *, run: int = 1, code: int | None = None, ran_s: float = 1.0) -> Status:
    return Status(
        "u.c.1",
        "u.c",
        phase,
        run=run,
        exit_code=code,
        started_at=NOW - ran_s,
        ended_at=NOW if code is not None else None,
    )


@pytest.mark.parametrize(
    ("found", "policy", "due_at", "expected"),
    [
        pytest.param(None, "Always", 0, Next(start=True), id="never made"),
        pytest.param(status(Phase.RUNNING), "Always", 0, Next(), id="running"),
        pytest.param(status(Phase.FAILED, code=1), "Always", NOW + 2, Next(wait_s=2), id="in its back-off"),
        pytest.param(status(Phase.FAILED, code=1), "Always", NOW, Next(start=True), id="after its back-off"),
        pytest.param(
            status(Phase.COMPLETED, code=0), "Always", 0, Next(start=True), id="done, but always wanted"
        ),
        pytest.param(status(Phase.COMPLETED, code=0), "OnFailure", 0, Next(), id="done"),
        pytest.param(
            status(Phase.FAILED, code=1), "OnFailure", 0, Next(start=True), id="failed, to be tried again"
        ),
        pytest.param(status(Phase.FAILED, code=1), "Never", 0, Next(), id="failed for good"),
        pytest.param(status(Phase.BROKEN), "Always", 0, Next(start=True), id="left behind by a dead daemon"),
        pytest.param(status(Phase.BROKEN), "Never", 0, Next(), id="left behind, and never again"),
        pytest.param(status(Phase.STOPPED, code=143), "Always", 0, Next(start=True), id="ended by its probe"),
    ],
)
def test_the_next_step(found: Status | None, policy: str, due_at: float, expected: Next) -> None:
    assert containers.step(found, policy, Memory(due_at=due_at), NOW) == expected


def test_quick_ends_wait_longer_each_time_and_a_long_run_forgives() -> None:
    memory, waits = Memory(image="app:1"), []
    for run in range(1, 6):
        containers.take_end(memory, status(Phase.FAILED, run=run, code=1), NOW)
        waits.append(memory.due_at - NOW)
    assert waits == [0.5, 1, 2, 4, 8]
    containers.take_end(memory, status(Phase.FAILED, run=6, code=1, ran_s=60), NOW)
    assert memory.due_at - NOW == 0.5


def test_an_end_with_the_node_that_began_it_is_forgiven() -> None:
    memory = Memory()
    containers.take_end(memory, status(Phase.STOPPED, run=4, code=0), NOW)
    assert (memory.quick, memory.due_at) == (0, 0.0)


def test_an_end_is_noticed_once() -> None:
    memory, ended = Memory(ready=True, started=True), status(Phase.FAILED, code=1)
    assert containers.take_end(memory, ended, NOW)
    assert not containers.take_end(memory, ended, NOW)
    assert (memory.ready, memory.started) == (False, False)


@pytest.mark.parametrize(
    ("found", "memory", "state"),
    [
        pytest.param(None, Memory(), {"waiting": {"reason": "ContainerCreating"}}, id="not made"),
        pytest.param(
            None,
            Memory(waiting=("ImagePullBackOff", "why")),
            {"waiting": {"reason": "ImagePullBackOff", "message": "why"}},
            id="without an image",
        ),
        pytest.param(
            status(Phase.RUNNING),
            Memory(),
            {"running": {"startedAt": containers.instant(NOW - 1)}},
            id="running",
        ),
        pytest.param(
            status(Phase.FAILED, code=3, run=2),
            Memory(seen=2, quick=2),
            {
                "waiting": {
                    "reason": "CrashLoopBackOff",
                    "message": "back-off 1s restarting failed container=c",
                }
            },
            id="in its back-off",
        ),
        pytest.param(
            status(Phase.FAILED, code=3, run=2),
            Memory(seen=2),
            {"terminated": containers.terminated(status(Phase.FAILED, code=3, run=2))},
            id="about to start again",
        ),
        pytest.param(
            status(Phase.FAILED, code=3, run=2),
            Memory(seen=2, waiting=("CreateContainerError", "why")),
            {"waiting": {"reason": "CreateContainerError", "message": "why"}},
            id="without a way to start again",
        ),
    ],
)
def test_the_state_of_a_container(found: Status | None, memory: Memory, state: dict[str, Any]) -> None:
    assert containers.describe(CONTAINER, found, "Always", memory, NOW)["state"] == state


def test_a_waiting_container_tells_how_it_last_ended() -> None:
    told = containers.describe(
        CONTAINER, status(Phase.FAILED, code=3, run=4), "Always", Memory(seen=4, quick=1), NOW
    )
    assert told["restartCount"] == 3
    assert told["lastState"]["terminated"]["exitCode"] == 3
    assert told["containerID"] == "process://u.c.1-4"


def test_a_dead_daemon_counts_as_a_kill() -> None:
    ended = containers.terminated(status(Phase.BROKEN))
    assert (ended["exitCode"], ended["reason"]) == (137, "Error")
    assert "daemon ended" in ended["message"]
