"""A daemon that ends, in order or not, takes its processes along; the next one goes on with the same pods."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.embedded_node import (
    KUBECTL,
    EmbeddedNode,
    deployment,
    eventually,
    fetch,
    pod,
    running_node,
    server,
    service,
    shell,
)


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[EmbeddedNode]:
    if not KUBECTL:
        pytest.skip("kubectl is missing")
    with running_node(tmp_path) as started:
        yield started


def _processes(node: EmbeddedNode) -> list[str]:
    """Of the pods of this node: their folder is in their environment or their working directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if (entry / "cwd").readlink().is_relative_to(node.folder / "cluster" / "node" / "pods"):
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
    return found


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_pods_go_on_with_the_next_daemon(mortal: EmbeddedNode, end: str) -> None:
    once = pod("once", shell("echo said"), restartPolicy="Never")
    mortal.apply(deployment("web", 2, server()), service("web", "web", type="LoadBalancer"), once)
    mortal.kubectl("rollout status deploy/web --timeout=30s")
    mortal.until("get pod once", "Completed")
    before = {p["metadata"]["uid"]: p["status"]["podIP"] for p in _pods(mortal)}
    assert len(_processes(mortal)) == 2
    getattr(mortal.cluster, end)()
    eventually(lambda: _processes(mortal), lambda found: not found)
    mortal.cluster.start()
    mortal.until("get pods -l app=web", r"(?s)1/1 +Running +1.*1/1 +Running +1")
    assert {p["metadata"]["uid"]: p["status"]["podIP"] for p in _pods(mortal)} == before
    assert mortal.kubectl("logs once") == "said"
    assert "Completed" in mortal.kubectl("get pod once")
    eventually(lambda: fetch(f"{mortal.balanced}.10"), lambda answer: answer in before.values())
    first = mortal.kubectl("get pods -l app=web -o name").split()[0]
    assert "listening" in mortal.kubectl(f"logs {first} --previous")


def _pods(node: EmbeddedNode) -> list[dict[str, dict[str, str]]]:
    found: list[dict[str, dict[str, str]]] = node.get("pods", "-l app=web")["items"]
    return found


def test_a_pod_deleted_while_nobody_ran_it_is_cleared(mortal: EmbeddedNode) -> None:
    mortal.apply(pod("gone", shell("exec sleep 600")))
    mortal.kubectl("wait --for=condition=Ready pod/gone --timeout=30s")
    mortal.kubectl("delete pod gone --grace-period=300 --wait=false")
    mortal.cluster.kill()
    mortal.cluster.start()
    eventually(lambda: mortal.kubectl("get pods -o name"), "".__eq__)
    assert not any((mortal.folder / "cluster" / "node" / "pods").iterdir())


def test_loopback_addresses_are_asked_for_before_anything_starts(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "forge.embedded", "--name", "lab", "--dir", str(tmp_path / "c")]
    done = subprocess.run(
        [*argv, "--pod-cidr", "203.0.113.0/24"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "cannot use addresses of 203.0.113.0/24" in done.stderr


def test_what_holds_secrets_is_its_owners_alone(mortal: EmbeddedNode) -> None:
    folder = mortal.folder / "cluster"
    places = (
        folder / "store.sqlite",
        folder / "store.sqlite-wal",
        folder / "node",
        folder / "admin.kubeconfig",
    )
    assert [place.stat().st_mode & 0o077 for place in places] == [0, 0, 0, 0]


def test_one_folder_has_one_daemon(mortal: EmbeddedNode) -> None:
    folder = mortal.folder / "cluster"
    argv = [sys.executable, "-m", "forge.embedded", "--name", "lab", "--dir", str(folder), "--api-only"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    pid = (folder / "pid").read_text().strip()
    assert (done.returncode, done.stderr.splitlines()[:2]) == (
        5, ["cluster lab runs already", f"process {pid} holds {folder / 'pid'}"],
    )  # fmt: skip
    assert mortal.kubectl("get --raw /readyz") == "ok"


def test_a_store_that_is_none_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").write_bytes(bytes(range(256)) * 20)
    argv = [sys.executable, "-m", "forge.embedded", "--name", "lab", "--dir", str(tmp_path), "--api-only"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "cannot use the cluster's store" in done.stderr
    assert "Traceback" not in done.stderr
