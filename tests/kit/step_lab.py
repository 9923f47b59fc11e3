"""Stacks applied step by step, as a run does it, to whatever clusters a test has: real ones or fakes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forge.errors import OperationFailed
from forge.host.files import LabFiles
from forge.host.tools import LabTools
from forge.kinds.step import kind
from forge.plan.facts import Facts
from forge.plan.kind import Context, Made, Site
from forge.plan.lab_ports import Access, Kube, Tools
from forge.plan.lab_resources import SecretResource
from forge.plan.values import Allocation, Change, Desired, Key, Observed, Owner, Phase, Verb
from forge.spec.load import load_text
from forge.spec.model import Environment
from forge.stack.flatten import flatten
from tests.kit.embedded_cluster import EmbeddedCluster
from tests.kit.fake_host import FakeHost, Machine
from tests.kit.fake_material import FakeMaterial, Shelf

OWNER = Owner("lab", "0123456789abcdef")

HEAD = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: embedded, clusterPrefix: pre}
  network: {crossCluster: true}
  secrets: [{name: token, bytes: 16, encoding: hex}]
  clusters:
    - name: east
      stacks: [base]
      properties: {zones: [a, b], region: us-east, word: x, image: "server:1", none: []}
  stacks:
    base:
      steps:
"""


class Reached:
    """As much of the Clusters port as steps use: how to reach clusters that stand."""

    def __init__(self, accesses: Mapping[str, Access]) -> None:
        self._accesses = accesses

    def access(self, name: str) -> Access:
        if name not in self._accesses:
            raise OperationFailed("FG0401", f"cluster {name} does not stand")
        return self._accesses[name]


@dataclass
class StepLab:
    """folder: holds lab/, the folder of forge.yaml, and state/. given: captures that are there already. made: of each step, by key. said: progress, in order."""

    folder: Path
    kube: Callable[[str], Kube]
    accesses: Mapping[str, Access] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=lambda: {"east": "10.0.0.10-10.0.0.20"})
    runtime: str = "embedded"
    tools: Tools = field(init=False)
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    shelf: Shelf = field(default_factory=Shelf)
    made: dict[Key, Made] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        (self.folder / "lab").mkdir(exist_ok=True)
        self.files = LabFiles(self.folder / "lab", self.state_dir)
        self.tools = LabTools(self.folder / "lab", self.state_dir, self.folder / "cache")
        self.material = FakeMaterial(self.shelf)
        self.material.make_secret(SecretResource("token", 16, "hex", "x"), "f")
        self.clusters: Any = Reached(self.accesses)
        self.images: Any = None
        self.balancers: Any = None

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    def write(self, path: str, text: str | bytes) -> None:
        """A file beside forge.yaml."""
        target = self.folder / "lab" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)

    def spec(self, *steps: str) -> Environment:
        """The environment whose only stack has these steps, each in YAML's flow form."""
        return load_text(HEAD + "".join(f"        - {step}\n" for step in steps), environ={}).environment

    def facts(self) -> Facts:
        captures = {cluster: dict(values) for cluster, values in self.given.items()}
        for key, made in self.made.items():
            captures.setdefault(str(key.cluster), {}).update(made.captures)
        fingerprints, previous, secrets = self.material.fingerprints()
        return Facts(captures, self.pools, fingerprints, previous, {"web": "10.0.0.9"}, secrets)

    def context(self) -> Context:
        allocation = Allocation(pools=self.pools)
        folder = str(self.folder / "lab")
        return Context(folder, str(self.state_dir), self.runtime, allocation, self.facts(), self.files)

    def run(self, *steps: str) -> tuple[Made, ...]:
        """Applies them one after the other; gives what came of each. Objects of earlier runs are known."""
        return self.run_spec(self.spec(*steps))

    def run_spec(self, spec: Environment, skip: tuple[str, ...] = ()) -> tuple[Made, ...]:
        """skip: types of steps that are left out."""
        keys = [key for key, step in flatten(spec, self.files) if step.step.type not in skip]
        return tuple(self.apply(spec, key) for key in keys)

    def settled(self, spec: Environment, key: Key) -> Desired:
        return kind.settled(spec, self.context(), key)

    def apply(self, spec: Environment, key: Key) -> Made:
        before = self.made.get(key)
        verb = Verb.CREATE if before is None else Verb.UPDATE
        site = replace(self.site(), known=frozenset(r for m in self.made.values() for r in m.releases))
        if before is not None:
            site = replace(site, previous=before.objects, installed=before.releases)
        made = kind.apply(Change(verb, key, "a test"), self.settled(spec, key), None, site)
        self.made[key] = made
        return made

    def remove(self, key: Key) -> None:
        made = self.made.pop(key)
        site = replace(self.site(), previous=made.objects, installed=made.releases)
        kind.remove(Observed(key, OWNER, None, Phase.PRESENT), site)

    def site(self) -> Site:
        return Site(FakeHost(Machine()), OWNER, self.said.append, self.cancel, self, self.facts)


def reach(cluster: EmbeddedCluster) -> Access:
    """As the driver of embedded clusters tells it."""
    ca = (cluster.folder / "pki" / "ca.crt").read_bytes()
    return Access(cluster.kubeconfig, "", cluster.url, cluster.url, ca)
