"""An engine's refusal is told without the layers it came through, and without secrets."""

from __future__ import annotations

import pytest

from forge.host import docker_errors
from forge.host.docker_labels import labels
from forge.host.engine import EngineRefused
from forge.plan.resources import Secret, ServiceResource
from forge.plan.values import Key, Owner


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param(
            "failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
            'container process: exec: "nosuch": executable file not found in $PATH: unknown',
            '"nosuch": executable file not found in $PATH',
            id="Docker 20: no such program",
        ),
        pytest.param(
            "failed to create task for container: failed to create shim task: OCI runtime create failed: runc "
            'create failed: unable to start container process: exec: "nosuch": executable file not found '
            "in $PATH: unknown",
            '"nosuch": executable file not found in $PATH',
            id="Docker 24: no such program",
        ),
        pytest.param(
            "driver failed programming external connectivity on endpoint lab-web (9f86d081884c7d65): Error "
            "starting userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use",
            "listen tcp4 127.0.0.1:80: bind: address already in use",
            id="a port that is held",
        ),
        pytest.param("network lab-net not found", "network lab-net not found", id="nothing to take away"),
        pytest.param("exec: ", "exec: ", id="nothing would be left"),
    ],
)
def test_the_layers_are_taken_off(message: str, words: str) -> None:
    assert docker_errors.plain(message) == words


@pytest.mark.parametrize(
    ("found", "why"),
    [
        pytest.param(None, "it exists and belongs to no environment", id="nobody's"),
        pytest.param(
            labels(Key("service", "web"), Owner("other", "22"), "f"),
            "it exists and belongs to environment 'other'",
            id="another environment's",
        ),
    ],
)
def test_what_is_not_ours_says_whose_it_is(found: dict[str, str] | None, why: str) -> None:
    refused = docker_errors.not_ours("container", "lab-web", found)
    assert (refused.exit_code, refused.why, refused.changed) == (8, why, False)


@pytest.mark.parametrize(("status", "may_pass"), [(400, False), (409, False), (500, False), (503, True)])
def test_only_a_refusal_of_the_moment_may_pass(status: int, may_pass: bool) -> None:
    failed = docker_errors.refused_by_engine("cannot", EngineRefused(status, "no"))
    assert (failed.why, failed.may_pass) == ("no", may_pass)


def test_values_of_env_are_blotted_out() -> None:
    env = {"TOKEN": Secret("hush-hush"), "ON": Secret("1")}
    wanted = ServiceResource("web", "lab-web", "example/web:1", env=env)
    assert docker_errors.without_secrets("1 bad: hush-hush", wanted) == "1 bad: ***"
