"""The real `kind` against an engine of the tests' own, with a kubeconfig of its own.

    tool = Kind(fetch.kind("trixie"), engine, tmp_path)
    tool("create", "cluster", "--name", name, "--image", image.TAG)
    tool.kubectl("get", "nodes", cluster=name)

Neither the user's kubeconfig nor the user's engine is ever read or changed.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge.host.engine import Engine

_TIMEOUT_S = 180.0


class Refused(Exception):
    """A command ended with an error; says which and what it printed."""


@dataclass(frozen=True, slots=True)
class Kind:
    """folder: of the test, where its kubeconfig is. network: docker's, made by kind where absent."""

    binary: Path
    engine: Engine
    folder: Path
    network: str = "kind"

    @property
    def subnet(self) -> str:
        """The network's IPv4 subnet, which must exist: `172.18.0.0/16`."""
        rows = self.engine.get(f"/networks/{self.network}")["IPAM"]["Config"]
        return next(str(row["Subnet"]) for row in rows if ":" not in row["Subnet"])

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "DOCKER_HOST": f"unix://{self.engine.socket_path}",
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "KIND_EXPERIMENTAL_PROVIDER": "docker",
            "KIND_EXPERIMENTAL_DOCKER_NETWORK": self.network,
            "HOME": str(self.folder),
        }
        theirs = {k: v for k, v in os.environ.items() if not k.startswith(("DOCKER_", "KIND_", "KUBE"))}
        return theirs | own

    def __call__(self, *words: str, given: str = "") -> str:
        """What kind prints as its result. given: its input. Raises Refused."""
        return self._run([str(self.binary), *words], given)

    def kubectl(self, *words: str, cluster: str, given: str = "") -> str:
        """Raises Refused."""
        options = ("--context", f"kind-{cluster}", "--request-timeout=70s")
        return self._run(["kubectl", *options, *words], given)

    def objects(self, *words: str, cluster: str) -> Any:
        """What `kubectl get` finds. Raises Refused."""
        return json.loads(self.kubectl("get", *words, "-o", "json", cluster=cluster))

    def docker(self, *words: str) -> str:
        """Raises Refused."""
        return self._run(["docker", *words], "")

    def _run(self, argv: list[str], given: str) -> str:
        done = subprocess.run(
            argv,
            input=given,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        if done.returncode:
            raise Refused(f"{' '.join(argv)}: {done.stderr}{done.stdout}")
        return done.stdout
