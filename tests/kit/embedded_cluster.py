"""A real embedded cluster in a process of its own, and what one needs to speak to it."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from forge.host.tls_socket import closing

# Starting takes a fraction of a second; a loaded machine takes what it takes.
DEADLINE_S = 60.0
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


class EmbeddedCluster:
    """One daemon on a folder; may be killed and started again on the same folder and port.

    node: whether it runs pods and serves Services, or is an API alone.
    """

    def __init__(self, folder: Path, *arguments: str, node: bool = False) -> None:
        self.folder = folder
        self._arguments = arguments if node else ("--api-only", *arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    def start(self) -> None:
        """Returns once it answers. A second start listens where the first one did."""
        self.kubeconfig.unlink(missing_ok=True)
        listen = self.url.removeprefix("https://") or "127.0.0.1:0"
        argv = [sys.executable, "-m", "forge.embedded", "--name", "lab", "--dir", str(self.folder)]
        self._process = subprocess.Popen([*argv, "--listen", listen, *self._arguments])
        deadline = time.monotonic() + DEADLINE_S
        while not self.kubeconfig.exists():
            assert self._process.poll() is None, f"the daemon ended: {self._log()}"
            assert time.monotonic() < deadline, f"no kubeconfig in time: {self._log()}"
            time.sleep(0.01)
        text = self.kubeconfig.read_text()
        self.url = next(line.split()[-1] for line in text.splitlines() if "server:" in line)
        with self.client() as client:
            assert client.get("/readyz").text == "ok"

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text()[-2000:] if log.exists() else "no log"

    def kill(self) -> None:
        """As the kernel does it: nothing is said, nothing is written any more."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator does it; answers the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        if self._process is None:
            return 0
        process, self._process = self._process, None
        process.send_signal(number)
        return process.wait(DEADLINE_S)

    def context(self, *, admin: bool = True) -> ssl.SSLContext:
        context = closing(ssl.create_default_context(cafile=str(self.folder / "pki" / "ca.crt")))
        if admin:
            context.load_cert_chain(self.folder / "pki" / "admin.crt", self.folder / "pki" / "admin.key")
        return context

    def client(self, *, token: str = "", admin: bool = True) -> httpx.Client:
        """An HTTP client: the administrator, the bearer of *token*, or nobody."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        context = self.context(admin=admin and not token)
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=DEADLINE_S)

    def kubectl(
        self, binary: str, *arguments: str, given: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs kubectl against this cluster, with a home of its own."""
        environment = os.environ | {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        done = subprocess.run(
            [binary, *arguments],
            check=False,
            input=given,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert not check or done.returncode == 0, f"kubectl {arguments}: {done.stdout}{done.stderr}"
        return done


@contextmanager
def running(folder: Path, *arguments: str, node: bool = False) -> Iterator[EmbeddedCluster]:
    """A started cluster that is stopped, whatever happens."""
    cluster = EmbeddedCluster(folder, *arguments, node=node)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition(plural: str, kind: str, schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """A CRD of group lab.test with one version v1."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.lab.test"},
        "spec": {
            "group": "lab.test",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [served],
        },
    }


def until(client: httpx.Client, path: str, code: int = 200) -> httpx.Response:
    """The answer of *path* once it has that code."""
    deadline = time.monotonic() + DEADLINE_S
    while (answer := client.get(path)).status_code != code:
        assert time.monotonic() < deadline, f"{path} stays {answer.status_code}: {answer.text[:300]}"
        time.sleep(0.01)
    return answer
