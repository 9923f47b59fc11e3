"""What kind is given, and what is read of what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge.errors import ToolMissing
from forge.host.clusters import kind_command
from forge.host.command import Ended
from forge.plan.lab_resources import ClusterResource, Driver

WANTED = ClusterResource("east", "forge-east", Driver.KIND)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {"nodes": [{"role": "control-plane"}]}, id="one node"),
        pytest.param(
            {"control_planes": 2, "workers": 1},
            {"nodes": [{"role": "control-plane"}, {"role": "control-plane"}, {"role": "worker"}]},
            id="several",
        ),
        pytest.param(
            {"kind_config": {"networking": {"podSubnet": "10.1.0.0/16"}}},
            {"networking": {"podSubnet": "10.1.0.0/16"}, "nodes": [{"role": "control-plane"}]},
            id="more is passed on",
        ),
        pytest.param(
            {"workers": 3, "kind_config": {"nodes": ({"role": "control-plane", "labels": {"a": "b"}},)}},
            {"nodes": [{"role": "control-plane", "labels": {"a": "b"}}]},
            id="nodes of the file's own",
        ),
        pytest.param(
            {"kind_config": {"kind": "Else", "apiVersion": "else/v1", "name": "else"}},
            {"nodes": [{"role": "control-plane"}]},
            id="what it is and is called stays ours",
        ),
    ],
)
def test_the_configuration(fields: dict[str, object], expected: dict[str, object]) -> None:
    wanted = ClusterResource("east", "forge-east", Driver.KIND, **fields)  # type: ignore[arg-type]  # of a table
    own = {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "name": "forge-east"}
    assert json.loads(kind_command.configuration(wanted)) == own | expected


@pytest.mark.parametrize(
    ("config", "count"),
    [
        pytest.param({}, 3, id="as counted"),
        pytest.param({"nodes": [{"role": "control-plane"}]}, 1, id="as the file lists them"),
    ],
)
def test_how_many_nodes_are_waited_for(config: dict[str, object], count: int) -> None:
    wanted = ClusterResource("east", "forge-east", Driver.KIND, workers=2, kind_config=config)
    assert kind_command.node_count(wanted) == count


def test_without_a_network_plugin_no_node_is_waited_for() -> None:
    plain = ClusterResource("east", "forge-east", Driver.KIND)
    bare = ClusterResource(
        "east", "forge-east", Driver.KIND, kind_config={"networking": {"disableDefaultCNI": True}}
    )
    assert kind_command.has_network_of_its_own(plain)
    assert not kind_command.has_network_of_its_own(bare)


def test_nothing_of_the_callers_leads_kind_elsewhere() -> None:
    outer = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "DOCKER_HOST": "tcp://elsewhere",
        "DOCKER_CONFIG": "/config",
        "KIND_EXPERIMENTAL_PROVIDER": "podman",
        "KUBECONFIG": "/home/me/.kube/config",
        "HTTPS_PROXY": "http://proxy",
    }
    assert kind_command.environment(outer, "/run/docker.sock", "lab-net") == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "DOCKER_CONFIG": "/config",
        "HTTPS_PROXY": "http://proxy",
        "DOCKER_HOST": "unix:///run/docker.sock",
        "KIND_EXPERIMENTAL_PROVIDER": "docker",
        "KIND_EXPERIMENTAL_DOCKER_NETWORK": "lab-net",
    }


@pytest.mark.parametrize("named", ["", "FORGE_KIND"])
def test_kind_is_found_on_path_or_by_name(tmp_path: Path, named: str) -> None:
    binary = tmp_path / "kind"
    binary.write_text("")
    binary.chmod(0o755)
    environ = {named: str(binary), "PATH": "/nowhere"} if named else {"PATH": str(tmp_path)}
    assert kind_command.program(environ) == str(binary)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        pytest.param({"PATH": "/nowhere"}, "no kind on PATH", id="nowhere"),
        pytest.param({"PATH": "/bin", "FORGE_KIND": "/no/kind"}, "names '/no/kind'", id="wrongly named"),
    ],
)
def test_without_kind_it_says_what_to_do(environ: dict[str, str], why: str) -> None:
    with pytest.raises(ToolMissing, match=why) as missing:
        kind_command.program(environ)
    assert (missing.value.code, missing.value.exit_code) == ("FG0700", 7)


def test_its_steps_are_told_once_each() -> None:
    told: list[str] = []
    tell = kind_command.steps(told.append)
    for line in (
        'Creating cluster "east" ...',
        " • Preparing nodes 📦 📦   ...",
        " ✓ Preparing nodes 📦 📦 ",
        " • Writing configuration 📜  ...",
        " ✗ Starting control-plane 🕹️",
    ):
        tell(line)
    assert told == ["preparing nodes", "writing configuration", "starting control-plane"]


@pytest.mark.parametrize(
    ("lines", "why", "may_pass"),
    [
        pytest.param(
            ("a", "ERROR: failed to x: y", "Command Output: z"), "failed to x: y", False, id="its error"
        ),
        pytest.param(("only this",), "only this", False, id="its last line"),
        pytest.param((), "it ended with 1", False, id="silent"),
        pytest.param(
            ("ERROR: Cannot connect to the Docker daemon at unix:///x",),
            "Cannot connect to the Docker daemon at unix:///x",
            True,
            id="the engine restarts",
        ),
    ],
)
def test_a_failure_is_pasteable_and_says_why(lines: tuple[str, ...], why: str, may_pass: bool) -> None:
    failed = kind_command.failed("forge-east", Ended(("kind", "create", "a b"), 1, lines))
    assert (failed.code, failed.why, failed.may_pass, failed.changed) == ("FG0702", why, may_pass, False)
    assert failed.detail == ("$ kind create 'a b'", *lines)
