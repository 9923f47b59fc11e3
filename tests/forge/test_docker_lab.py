"""The minimal lab on a real container engine, driven by the real command."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge.host.engine import Engine
from tests.kit.images import python_image
from tests.kit.praxis_forge import Forge, processes_with

pytestmark = pytest.mark.docker

MINIMAL = Path(__file__).parents[2] / "environments" / "minimal"
IMAGE = "python:3.12-slim"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def lab(tmp_path: Path, docker: Engine) -> Iterator[Forge]:
    """The minimal lab under a name and ports of its own; its image is made here."""
    python_image(docker, IMAGE)
    before = inventory(docker)
    forge = copy_of_minimal(tmp_path / "lab", docker, tmp_path / "xdg")
    yield forge
    forge("down", check=None)
    assert inventory(docker) == before


def copy_of_minimal(folder: Path, docker: Engine, xdg: Path) -> Forge:
    (folder / "app").mkdir(parents=True)
    for file in (MINIMAL / "app").glob("*.py"):
        (folder / "app" / file.name).write_bytes(file.read_bytes())
    text = (
        (MINIMAL / "forge.yaml").read_text().replace("name: minimal", f"name: d{os.getpid()}-{free_port()}")
    )
    for port in ("18080", "18081"):
        text = text.replace(port, str(free_port()))
    (folder / "forge.yaml").write_text(text)
    return Forge(
        folder,
        {
            "DOCKER_HOST": f"unix://{docker.socket_path}",
            "XDG_STATE_HOME": str(xdg),
            "FORGE_RUNTIME": "docker",
        },
    )


def inventory(docker: Engine) -> set[str]:
    """Every container, network and volume of the engine."""
    containers = docker.get("/containers/json", {"all": "1"})
    networks = docker.get("/networks")
    volumes = docker.get("/volumes")["Volumes"] or []
    return (
        {f"container {c['Names'][0]}" for c in containers}
        | {f"network {n['Name']}" for n in networks}
        | {f"volume {v['Name']}" for v in volumes}
    )


def port_of(lab: Forge, container_port: int = 8080) -> int:
    found = re.search(rf"host: (\d+), container: {container_port}", (lab.folder / "forge.yaml").read_text())
    assert found is not None
    return int(found[1])


def fetch(lab: Forge) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(lab)}/", timeout=20) as answer:
        return str(answer.read().decode())


def edit(lab: Forge, old: str, new: str) -> None:
    path = lab.folder / "forge.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def containers(lab: Forge) -> dict[str, Any]:
    return {s["name"]: s["live"] for s in lab.data("service", "list")["services"]}


def test_from_nothing_to_an_answer_and_back(lab: Forge) -> None:
    assert (
        "4 to create" in lab("plan").stdout.replace("3 to create, 0", "4 to create, 0")
        or "3 to create" in lab("plan").stdout
    )
    lab("up")
    assert fetch(lab).startswith("visitor number ")
    assert "No changes" in lab("plan", "--detailed-exitcode").stdout
    assert lab.data("status")["ok"]
    lab("evidence", "mark")
    lab("up")
    assert "nothing changed" in lab("evidence", "diff").stdout


def test_published_on_loopback_only(lab: Forge) -> None:
    lab("up")
    host = socket.gethostbyname(socket.gethostname())
    if host.startswith("127."):
        host = _address_of_a_bridge()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, port_of(lab)), timeout=5)


def _address_of_a_bridge() -> str:
    """An address of this machine that is not loopback: a published wildcard port would answer there."""
    for line in Path("/proc/net/fib_trie").read_text().splitlines():
        found = re.search(r"\|-- (10\.\d+\.\d+\.1)$", line)
        if found:
            return found[1]
    pytest.fail("this machine has loopback addresses only")


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(range(1, 40), marks=pytest.mark.long, id="every point"),
        pytest.param((2, 5), id="a sample"),
    ],
)
@pytest.mark.parametrize("command", ["up", "down"])
def test_killed_after_an_entry_of_the_journal(
    lab: Forge, docker: Engine, command: str, points: range
) -> None:
    before = inventory(docker)
    for point in points:
        if command == "down":
            lab("up")
        was_killed = lab.killed_at(point, command)
        lab("up")
        assert fetch(lab).startswith("visitor")
        lab("plan", "--detailed-exitcode")
        lab("down")
        assert inventory(docker) == before
        if not was_killed:
            return


def test_a_container_of_somebody_else_is_refused(lab: Forge, docker: Engine) -> None:
    name = f"{lab.data('plan')['environment']}-web"
    made = docker.post("/containers/create", {"name": name}, {"Image": IMAGE, "Cmd": ["sleep", "600"]})
    try:
        done = lab("up", check=8)
        assert "belongs to no environment" in done.stderr
        assert not (lab.folder / ".forge" / "state.json").exists()
    finally:
        docker.delete(f"/containers/{made['Id']}")


def test_a_port_that_is_taken_names_its_holder_and_leaves_no_container(lab: Forge) -> None:
    with socket.create_server(("127.0.0.1", port_of(lab))):
        done = lab("up", check=1)
        assert str(port_of(lab)) in done.stderr
        assert set(containers(lab)) - {"web"} == {"store"}
    lab("up")
    assert fetch(lab).startswith("visitor")


def test_an_image_that_is_missing_says_what_to_do(lab: Forge) -> None:
    edit(
        lab,
        f"image: {IMAGE}\n      network: environment\n      dependsOn",
        "image: praxis.test/absent:1\n      network: environment\n      dependsOn",
    )
    done = lab("up", check=1)
    assert "praxis.test/absent:1" in done.stderr
    assert "needs image/praxis.test/absent:1, which failed" in done.stderr
    assert set(containers(lab)) == {"store"}


def test_a_service_that_exits_at_once_shows_why(lab: Forge) -> None:
    edit(lab, "args: [python3, /app/store.py]", "args: [sh, -c, 'echo no such table >&2; exit 4']")
    edit(
        lab,
        "restart: unless-stopped\n      healthCheck: {type: http, port: 8081",
        "healthCheck: {type: http, port: 8081",
    )
    done = lab("up", check=6)
    assert "exited with 4" in done.stderr
    assert "no such table" in done.stderr


def test_a_subnet_that_is_taken_is_refused(lab: Forge, docker: Engine) -> None:
    made = docker.post(
        "/networks/create",
        None,
        {"Name": "praxis-test-taken", "IPAM": {"Config": [{"Subnet": "10.99.8.0/24"}]}},
    )
    try:
        edit(lab, "  images:", "  network: {subnet: 10.99.8.0/22}\n  images:")
        done = lab("up", check=1)
        assert "10.99.8.0/24 belongs to" in done.stderr
    finally:
        docker.delete(f"/networks/{made['Id']}")


def test_two_labs_beside_each_other(lab: Forge, docker: Engine, tmp_path: Path) -> None:
    other = copy_of_minimal(tmp_path / "other", docker, tmp_path / "xdg")
    lab("up")
    other("up")
    assert fetch(lab).startswith("visitor")
    assert fetch(other).startswith("visitor")
    subnets = {
        json.loads((f.folder / ".forge" / "state.json").read_text())["network"]["subnet"]
        for f in (lab, other)
    }
    assert len(subnets) == 2
    other("down")
    assert fetch(lab).startswith("visitor")


def test_logs_follow_over_restart_and_recreation(lab: Forge) -> None:
    lab("up")
    with lab.running("service", "logs", "web", "--follow", "-o", "json") as follower:
        assert follower.stdout is not None
        lines = [json.loads(follower.stdout.readline())]
        lab("service", "restart", "web")
        lines.append(json.loads(follower.stdout.readline()))
        edit(lab, "args: [python3, /app/web.py]", "args: [python3, -u, /app/web.py]")
        lab("up")
        lines.append(json.loads(follower.stdout.readline()))
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
    assert {line["text"].partition(",")[0].partition(" on ")[0] for line in lines} == {"web listens"}


def test_exec_gives_the_exit_code(lab: Forge) -> None:
    lab("up")
    lab("service", "exec", "store", "sh", "-c", "exit 9", check=9)


def test_the_canary_is_nowhere(lab: Forge) -> None:
    """The secret reaches its container by the engine's API: no argv, file, label or output has it."""
    edit(lab, "      env:\n", "      env:\n        TOKEN: canary-d00d17\n")
    said = [
        lab(*words, check=None)
        for words in (["plan"], ["up"], ["status", "-o", "json"], ["doctor"], ["service", "logs"])
    ]
    assert not any("canary-d00d17" in done.stdout + done.stderr for done in said)
    lab("service", "exec", "web", "sh", "-c", 'test "$TOKEN" = canary-d00d17')
    files = [p for p in (lab.folder / ".forge").rglob("*") if p.is_file()]
    assert files
    assert not any(b"canary-d00d17" in p.read_bytes() for p in files)
    assert not any("canary-d00d17" in line for line in processes_with("canary-d00d17").values())


def test_down_without_the_file(lab: Forge) -> None:
    lab("up")
    (lab.folder / "forge.yaml").unlink()
    lab("down")
