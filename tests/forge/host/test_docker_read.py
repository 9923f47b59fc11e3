"""What an engine says of a container or network is read into one Observed, whatever state it is in."""

from __future__ import annotations

from typing import Any

import pytest

from forge.host import docker_read
from forge.host.docker_labels import labels
from forge.plan.values import Key, Observed, Owner, Phase

WEB = Key("service", "web")
OWNER = Owner("lab", "0011")
STARTED = "2026-11-30T09:22:22.306082582Z"


def container(state: dict[str, Any], **fields: Any) -> dict[str, Any]:
    plain = {
        "Id": "c1",
        "Name": "/lab-web",
        "RestartCount": 0,
        "Config": {"Labels": {**labels(WEB, OWNER, "f1"), docker_read.POLICY: "always"}},
        "HostConfig": {"RestartPolicy": {"Name": "always"}},
        "State": {"Status": "running", "StartedAt": STARTED, "ExitCode": 0, "Pid": 0, **state},
        "NetworkSettings": {"Networks": {"lab-net": {"NetworkID": "n1", "IPAddress": "10.64.1.2"}}},
    }
    return plain | fields


def test_a_running_container_is_read_whole() -> None:
    seen = docker_read.service(WEB, container({"Pid": 4711}, RestartCount=2), {"n1"}, last_exit=3)
    assert seen == Observed(
        key=WEB,
        owner=OWNER,
        fingerprint="f1",
        phase=Phase.RUNNING,
        id="c1",
        pid=4711,
        started_at=1796030542.306082582,
        restarts=2,
        exit_code=3,
        address="10.64.1.2",
    )


MARKED = {"HostConfig": {"RestartPolicy": {"Name": "no"}}}


@pytest.mark.parametrize(
    ("state", "fields", "phase", "exit_code", "detail"),
    [
        pytest.param({}, {}, Phase.RUNNING, None, "", id="running for the first time: no exit code"),
        pytest.param({"Status": "paused"}, {}, Phase.STOPPED, None, "paused", id="paused"),
        pytest.param(
            {"Status": "restarting", "ExitCode": 2, "Restarting": True},
            {},
            Phase.STARTING,
            2,
            "waits to be started again",
            id="between two attempts",
        ),
        pytest.param({"Status": "exited"}, {}, Phase.COMPLETED, 0, "", id="exited with 0"),
        pytest.param({"Status": "exited", "ExitCode": 3}, {}, Phase.FAILED, 3, "", id="exited with 3"),
        pytest.param(
            {"Status": "exited", "ExitCode": 137, "OOMKilled": True},
            {},
            Phase.FAILED,
            137,
            "killed, out of memory",
            id="out of memory",
        ),
        pytest.param(
            {"Status": "exited", "ExitCode": 143}, MARKED, Phase.STOPPED, 143, "", id="stopped by us"
        ),
        pytest.param({}, MARKED, Phase.RUNNING, None, "", id="a stop that was cut off: it runs"),
        pytest.param(
            {"Status": "created", "StartedAt": "0001-01-01T00:00:00Z"},
            {},
            Phase.BROKEN,
            None,
            "it was made but never started",
            id="a run was cut off",
        ),
        pytest.param({"Status": "dead"}, {}, Phase.BROKEN, 0, "the engine calls it dead", id="dead"),
        pytest.param(
            {"Status": "removing"}, {}, Phase.BROKEN, 0, "the engine calls it removing", id="removing"
        ),
    ],
)
def test_every_state_has_its_phase(
    state: dict[str, Any], fields: dict[str, Any], phase: Phase, exit_code: int | None, detail: str
) -> None:
    seen = docker_read.service(WEB, container(state, **fields), {"n1"})
    assert (seen.phase, seen.exit_code, seen.detail) == (phase, exit_code, detail)


def test_an_ended_container_whose_network_is_gone_is_broken() -> None:
    seen = docker_read.service(WEB, container({"Status": "exited"}), {"n2"})
    assert (seen.phase, seen.detail) == (Phase.BROKEN, "its network is gone")


def test_a_stopped_container_keeps_its_fixed_address() -> None:
    attached = {"NetworkID": "n1", "IPAddress": "", "IPAMConfig": {"IPv4Address": "10.64.1.9"}}
    found = container({"Status": "exited"}, NetworkSettings={"Networks": {"lab-net": attached}})
    assert docker_read.service(WEB, found).address == "10.64.1.9"


def test_a_container_without_labels_is_nobodys() -> None:
    seen = docker_read.service(WEB, container({"Status": "exited"}, Config={"Labels": None}))
    assert (seen.owner, seen.fingerprint, seen.phase) == (None, None, Phase.COMPLETED)


def test_a_network_is_present() -> None:
    found = {"Id": "n1", "Name": "lab-net", "Labels": labels(Key("network", "lab"), OWNER, "f2")}
    key = Key("network", "lab")
    assert docker_read.network(key, found) == Observed(key, OWNER, "f2", Phase.PRESENT, id="n1")
    assert docker_read.network(key, {"Id": "n1", "Labels": None}).owner is None


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param(STARTED, 1796030542306082582, id="nine digits, exactly"),
        pytest.param("2026-11-30T09:22:22Z", 1796030542000000000, id="whole seconds"),
        pytest.param("2026-11-30T10:22:22.5+01:00", 1796030542500000000, id="another zone"),
        pytest.param("0001-01-01T00:00:00Z", None, id="Go's zero: never"),
        pytest.param("", None, id="nothing"),
        pytest.param("yesterday", None, id="no instant at all"),
    ],
)
def test_instants_are_read_to_the_nanosecond(text: str, nanoseconds: int | None) -> None:
    assert docker_read.nanoseconds(text) == nanoseconds
