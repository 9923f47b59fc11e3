"""The grid-edge lab as the proof sees it: its names, its addresses, and what it says of itself.

Everything is asked through `praxis-forge` or over the wire; names are those of
environments/grid-edge/forge.yaml, and nothing here knows on which runtime it runs.
"""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from e2e.forge_command import ForgeCommand
from e2e.kube import APPS, CORE, Kube
from e2e.wire import Answer, Connection, Endpoint, Proof, ask
from grid.contract.overlay import Overlay
from grid.contract.parse import parse
from grid.contract.status import GatewayStatus, read_status

PUBLIC_NAME = "api.grid.test"
MODEL = "shared-model"
NETWORK = "production"
CONTROL = "edge-control"
EAST, WEST = "provider-east", "provider-west"
CANDIDATES = 3
"""Providers of the model: two in the east, one in the west."""
CLUSTERS = (EAST, WEST, CONTROL)
US, EU = "us-east", "eu-west"
ADMIN_PORT = 9901
SYNC_PORT = 9902
GATEWAY_PORT = 8443
MARK = "e2e"
"""Name of the mark that evidence is compared with."""


class LabMissing(Exception):
    """The lab is not there as the scenario needs it. Nothing was changed."""


@dataclass
class Lab:
    """config: of the environment. runtime: None leaves the choice to Forge."""

    config: Path
    runtime: str | None = None
    _folder: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory("grid-e2e")
    )
    _kubes: dict[str, Kube] = field(default_factory=dict)
    _fresh: list[Kube] = field(default_factory=list)

    @cached_property
    def forge(self) -> ForgeCommand:
        return ForgeCommand(self.config, self.runtime)

    @property
    def state(self) -> Path:
        return self.config.parent / ".forge"

    @contextmanager
    def for_this_run_alone(self) -> Iterator[None]:
        """Faults of two runs on one lab would spoil the evidence of both. The file itself is locked, so
        that nothing stays behind. Raises LabMissing for no file, and where another run has it."""
        try:
            file = self.config.open("rb")
        except OSError as fault:
            raise LabMissing(f"there is no {self.config}: {fault.strerror}") from fault
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as fault:
                raise LabMissing(
                    f"another grid-e2e is playing on {self.config}; wait for it to end"
                ) from fault
            yield

    def describe(self) -> Any:
        """What `praxis-forge status` says, whether all is well or not."""
        return self.forge.data("status", codes=(0, 6))

    def kube(self, cluster: str) -> Kube:
        """A cluster's API, for the calling thread alone."""
        kubeconfig = self.state / "clusters" / cluster / "kubeconfig"
        if not kubeconfig.is_file():
            raise LabMissing(f"cluster {cluster} is not up: there is no {kubeconfig}")
        if cluster not in self._kubes:
            self._kubes[cluster] = Kube.open(cluster, kubeconfig, Path(self._folder.name))
        return self._kubes[cluster]

    def fresh_kube(self, cluster: str) -> Kube:
        """The same for another thread: a connection of its own."""
        kubeconfig = self.state / "clusters" / cluster / "kubeconfig"
        self._fresh.append(Kube.open(cluster, kubeconfig, Path(self._folder.name)))
        return self._fresh[-1]

    def certificate(self, name: str) -> Path:
        return self.state / "runtime" / "certs" / name

    def proof(self, leaf: str) -> Proof:
        folder = self.certificate(leaf)
        return Proof(folder / "tls.crt", folder / "tls.key")

    def api_key(self) -> str:
        return (self.state / "secrets" / "demo-api-key" / "value").read_text(encoding="utf-8").strip()

    def public(self, edge: str = US) -> Endpoint:
        """Where clients reach an edge."""
        ca = self.certificate("public-ca") / "ca.crt"
        return Endpoint("127.0.0.1", self.ports[f"grid-edge-{edge}"], PUBLIC_NAME, ca)

    def client(self, edge: str = US, timeout_s: float = 10.0) -> Client:
        return Client(Connection(self.public(edge), timeout_s), self.api_key())

    @cached_property
    def ports(self) -> Mapping[str, int]:
        """service -> its port on this machine, as the file says. Raises LabMissing."""
        try:
            spec = yaml.safe_load(self.config.read_text(encoding="utf-8"))["spec"]
            return {s["name"]: int(s["ports"][0]["host"]) for s in spec["services"] if s.get("ports")}
        except (OSError, yaml.YAMLError, KeyError, TypeError, IndexError) as fault:
            raise LabMissing(f"{self.config} is no lab of the grid: {fault}") from fault

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        """service -> its address on the lab network."""
        rows = self.describe()["resources"]
        live = {row["name"]: row["live"] for row in rows if row["kind"] == "service" and row["live"]}
        return {name: str(seen["address"]) for name, seen in live.items()}

    def admin(self, edge: str, path: str) -> Answer:
        """A page of an edge's admin address."""
        address = self.addresses[f"grid-edge-{edge}"]
        return ask(Endpoint(address, ADMIN_PORT, address, None), "GET", path, timeout_s=3.0)

    def edge_status(self, edge: str = US) -> GatewayStatus:
        return read_status(self.admin(edge, "/status").body)

    def sync_status(self, edge: str = US) -> Any:
        address = self.addresses[f"grid-overlay-sync-{edge}"]
        return ask(Endpoint(address, SYNC_PORT, address, None), "GET", "/status", timeout_s=3.0).json()

    def overlay_file(self, edge: str = US) -> Path:
        return self.state / "runtime" / f"edge-{edge}" / "overlay" / "grid-config.json"

    def overlay_path(self, edge: str = US) -> str:
        """Where its ConfigMap is in edge-control's API."""
        return f"{CORE}/configmaps/grid-overlay-{NETWORK}-edge-{edge}"

    def rendered(self, edge: str = US, kube: Kube | None = None) -> Overlay:
        """The overlay as edge-control's operator wrote it last. Raises LabMissing where there is none."""
        found = (kube or self.kube(CONTROL)).get(self.overlay_path(edge))
        if found is None:
            raise LabMissing(f"there is no overlay for edge-{edge} yet")
        return parse(found["data"]["grid-config.json"].encode())

    def workload(self, cluster: str, kind: str, name: str) -> dict[str, Any]:
        """What a rollout or a restart of a workload changes. Raises LabMissing."""
        found = self.kube(cluster).get(f"{APPS}/{kind}s/{name}")
        if found is None:
            raise LabMissing(f"there is no {kind} {name} in {cluster}")
        template = found["spec"]["template"]["metadata"].get("annotations") or {}
        return {
            "image": found["spec"]["template"]["spec"]["containers"][0]["image"],
            "restartedAt": template.get("kubectl.kubernetes.io/restartedAt"),
            "revision": (found["metadata"].get("annotations") or {}).get("deployment.kubernetes.io/revision"),
        }

    def log(self, service: str, since_s: int = 60) -> list[dict[str, Any]]:
        """A service's log lines of the last since_s seconds that are JSON objects."""
        said = self.forge("service", "logs", service, "--since", f"{since_s}s", "--output", "json")
        return _objects(json.loads(line)["text"] for line in said.splitlines())

    def pod_log(self, cluster: str, selector: str, since_s: int = 60) -> list[dict[str, Any]]:
        """The log lines of a cluster's pods of the last since_s seconds that are JSON objects."""
        kube = self.kube(cluster)
        pods = kube.pods(selector)
        return _objects(line for pod in pods for line in kube.log(pod["metadata"]["name"], since_s=since_s))

    def close(self) -> None:
        for kube in (*self._kubes.values(), *self._fresh):
            kube.connection.close()
        self._kubes.clear()
        self._fresh.clear()
        self._folder.cleanup()


@dataclass
class Client:
    """A tenant of the public API. For one thread at a time."""

    connection: Connection
    key: str

    def chat(
        self,
        model: str = MODEL,
        *,
        session: str | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
        key: str | None = None,
    ) -> Answer:
        """One chat completion."""
        body = {"model": model, "messages": [{"role": "user", "content": "hello"}], "stream": stream}
        sent = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.key if key is None else key}",
            **({"X-Praxis-Session-ID": session} if session is not None else {}),
            **(headers or {}),
        }
        return self.connection.ask("POST", "/v1/chat/completions", json.dumps(body).encode(), sent)


def _objects(lines: Any) -> list[dict[str, Any]]:
    found = []
    for line in lines:
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found
