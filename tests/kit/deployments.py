"""A Deployment of two pods in a cluster in memory, with what its controllers and kubelets would do."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from forge.plan.facts import Facts
from forge.plan.faults import Fault, How
from forge.plan.kind import Site
from forge.plan.lab_ports import Kube, Object
from forge.plan.values import Owner
from tests.kit.fake_host import FakeHost, Machine
from tests.kit.fake_kube_api import FakeCluster, FakeKube

SIM = ("apps/v1", "Deployment", "shop", "sim")
NAME = "east/shop/deployment/sim"


@dataclass
class Place:
    """A Deployment of two with its pods. frozen: pods do not follow its replicas, nor its status."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    said: list[str] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    frozen: bool = False

    def __post_init__(self) -> None:
        self.cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        selector = {"matchLabels": {"app": "sim"}}
        self.cluster.put(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "sim", "namespace": "shop"},
                "spec": {"replicas": 2, "selector": selector},
            }
        )
        self.follow("")
        self.cluster.after = self.follow

    def follow(self, _: str) -> None:
        """What controllers and kubelets would do."""
        thing = self.cluster.objects.get(SIM)
        if self.frozen or thing is None:
            return
        count = thing["spec"]["replicas"]
        for number in range(2):
            pod = ("v1", "Pod", "shop", f"sim-{number}")
            if number >= count:
                self.cluster.drop(pod)
            elif pod not in self.cluster.objects:
                self.cluster.put(
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"name": pod[3], "namespace": "shop", "labels": {"app": "sim"}},
                    }
                )
        ready = {"type": "Available", "status": "True"}
        status = {
            "observedGeneration": thing["metadata"]["generation"],
            "replicas": count,
            "conditions": [ready],
        }
        if thing.get("status") != status:
            self.cluster.objects[SIM]["status"] = status

    @property
    def thing(self) -> Object:
        return self.cluster.objects[SIM]

    def fault(self, how: How = How.STOP) -> Fault:
        meta = self.thing["metadata"]
        return Fault(NAME, how, 1.0, self.thing["spec"]["replicas"], meta["uid"], meta["generation"])

    def kube(self, _: str) -> Kube:
        return FakeKube(self.cluster, "east")

    @property
    def site(self) -> Site:
        return Site(FakeHost(Machine()), Owner("lab", "1"), self.said.append, self.cancel, self, Facts)  # type: ignore[arg-type]  # the port that this kind uses

    def pods(self) -> list[str]:
        return sorted(name for _, kind, _, name in self.cluster.objects if kind == "Pod")
