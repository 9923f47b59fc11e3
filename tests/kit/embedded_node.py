"""A cluster that runs pods, spoken to with the real kubectl, for tests of the node and of Services."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.kit.embedded_cluster import DEADLINE_S, EmbeddedCluster

T = TypeVar("T")
# The first that KUBECTL names, separated like PATH, so that another version can be run.
KUBECTL = os.environ.get("KUBECTL", "").split(os.pathsep)[0] or shutil.which("kubectl") or ""
PROGRAM = Path(__file__).with_name("pod_program.py")
PORT = 8080
_blocks = itertools.count(os.getpid() % 60 * 4)


class EmbeddedNode:
    """One cluster with a block of loopback addresses of its own. balanced: prefix of its pool. binary:
    the kubectl it is spoken to with."""

    def __init__(self, folder: Path) -> None:
        self.binary = KUBECTL
        block = f"127.{next(_blocks) % 150 + 100}"
        self.block = block
        self.balanced = f"{block}.200"
        self.folder = folder
        self.images = folder / "images.json"
        server = [sys.executable, "-S", "-E", str(PROGRAM), str(PORT)]
        self.map_images({"server:1": server, "server:2": server, "sh": ["/bin/sh", "-c"], "tool": []})
        arguments = ("--pod-cidr", f"{block}.0.0/18", "--service-cidr", f"{block}.64.0/18")
        pool = ("--lb-pool", f"{self.balanced}.10-{self.balanced}.12")
        self.cluster = EmbeddedCluster(
            folder / "cluster", *arguments, *pool, "--images", str(self.images), node=True
        )

    def map_images(self, mapping: dict[str, list[str]]) -> None:
        fresh = self.images.with_suffix(".new")
        fresh.write_text(json.dumps(mapping))
        fresh.replace(self.images)

    def kubectl(self, command: str, given: str = "", *, fails: bool = False) -> str:
        """What the command prints; words may be quoted with '."""
        done = self.run(command, given)
        assert (done.returncode != 0) == fails, f"{command}: {done.stdout}{done.stderr}"
        return (done.stderr if fails else done.stdout).strip()

    def run(self, command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """The command's end, whatever it is."""
        words = [w.strip("'") for w in re.findall(r"'[^']*'|\S+", command)]
        return self.cluster.kubectl(self.binary, *words, given=given, check=False)

    def apply(self, *documents: dict[str, Any]) -> None:
        self.kubectl("apply -f -", "\n".join(json.dumps(one) for one in documents))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl(f"get {kind} {name} -o json"))
        return found

    def until(self, command: str, pattern: str) -> str:
        """What the command prints once the pattern is in it."""
        return eventually(lambda: self.kubectl(command), lambda said: re.search(pattern, said) is not None)


def eventually(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """What is seen once it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds(seen := look()):
        assert time.monotonic() < deadline, f"still {seen!r}"
        time.sleep(0.02)
    return seen


def fetch(address: str, port: int = PORT, path: str = "/") -> str:
    """The body; `refused` where nobody listens, the code where the answer is an error."""
    try:
        with urllib.request.urlopen(f"http://{address}:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.code)
    except OSError:
        return "refused"


@contextmanager
def running_node(folder: Path) -> Iterator[EmbeddedNode]:
    """A started cluster with a node, stopped whatever happens."""
    node = EmbeddedNode(folder)
    node.cluster.start()
    try:
        yield node
    finally:
        node.cluster.stop()


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 2, "containers": list(containers), **spec},
    }


def shell(script: str, **more: Any) -> dict[str, Any]:
    """A container of the image `sh`."""
    return {"name": "main", "image": "sh", "args": [script], **more}


def server(**more: Any) -> dict[str, Any]:
    """A container that answers on PORT, ready once it does."""
    return {
        "name": "main",
        "image": "server:1",
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}},
        **more,
    }


def deployment(name: str, replicas: int, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 2, "containers": list(containers)},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
            **spec,
        },
    }


def service(name: str, app: str, *, protocol: str = "TCP", **spec: Any) -> dict[str, Any]:
    port = {"port": PORT, "targetPort": PORT, "protocol": protocol}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": app}, "ports": [port], **spec},
    }
