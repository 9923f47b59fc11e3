"""An engine that restarts, or dies, in the middle of anything is waited for, and nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forge.errors import OperationFailed, ToolMissing
from forge.host.containers import DockerHost
from forge.host.engine import Engine
from forge.plan.resources import RestartPolicy
from forge.plan.values import Observed, Phase
from tests.kit import docker_engine
from tests.kit.docker_engine import Home, halt, launch
from tests.kit.docker_lab import IMAGE, make_service, owner
from tests.kit.host_contract import (
    Lab,
    MakeService,
    Programs,
    eventually,
    following,
    lab,
    other_owner,
    program,
)
from tests.kit.images import python_image

__all__ = ["lab", "make_service", "other_owner", "owner", "program"]

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def home(docker: Engine) -> Iterator[Home]:
    """An engine that only this file uses, since it will be ended. docker: says whether there may be one."""
    it = docker_engine.start()
    python_image(it.engine, IMAGE)
    yield it
    docker_engine.end(it)


@pytest.fixture
def host(home: Home, tmp_path: Path) -> DockerHost:
    return DockerHost(tmp_path / "state", home.socket)


def in_thread(call: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Begins the call; gives its thread, and where its outcome will be."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(call())
        except Exception as error:  # noqa: BLE001 - the outcome, for the test to look at
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def kill(home: Home) -> None:
    pid = home.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: home.pid() is None)


def test_a_look_waits_for_an_engine_that_restarts(lab: Lab, home: Home) -> None:
    assert lab.host.observe(lab.owner, {}) == {}
    halt(home)
    looking, outcome = in_thread(lambda: lab.host.observe(lab.owner, {}))
    launch(home)
    looking.join(60)
    assert outcome == [{}]


def test_an_engine_that_does_not_come_back_is_missing(
    lab: Lab, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forge.host.engine._RESTART_S", 0.2)
    assert lab.host.observe(lab.owner, {}) == {}
    halt(home)
    try:
        with pytest.raises(ToolMissing, match="cannot reach a container engine"):
            lab.host.observe(lab.owner, {})
    finally:
        launch(home)


def test_following_goes_on_over_an_engine_that_restarts(
    lab: Lab, home: Home, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.say("one", "two"), restart=RestartPolicy.ALWAYS)
    seen = lab.create(web)
    lab.says(seen, "ready")
    with following(lab.host, seen) as lines:
        eventually(lambda: len(lines), lambda count: count == 3)
        halt(home)
        launch(home)
        eventually(lambda: len(lines), lambda count: count >= 6)
    assert [line.text for line in lines] == ["one", "two", "ready"] * 2


def test_an_action_that_the_engine_dies_in_may_be_done_again(
    lab: Lab, home: Home, make_service: MakeService, program: Programs
) -> None:
    web = make_service("web", program.ignore_term())
    seen = lab.create(web)
    lab.says(seen, "ready")
    stopping, outcome = in_thread(lambda: lab.host.stop_service(seen, 60))
    eventually(lambda: _is_marked(home.engine, seen))
    kill(home)
    stopping.join(60)
    (failed,) = outcome
    assert isinstance(failed, OperationFailed)
    assert (failed.code, failed.may_pass) == ("FG0302", True)
    launch(home)
    lab.host.stop_service(lab.look(web), 0)
    assert lab.look(web).phase is Phase.STOPPED
    lab.host.remove_service(seen, 0)
    assert lab.host.observe(lab.owner, {}) == {}


def _is_marked(engine: Engine, seen: Observed) -> bool:
    found = engine.get(f"/containers/{seen.id}/json")["HostConfig"]["RestartPolicy"]["Name"]
    return bool(found == "unless-stopped")
