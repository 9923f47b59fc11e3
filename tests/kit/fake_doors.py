"""The ports beside the host's, over fakes in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forge.app.lab import Lab
from forge.app.up import Request
from forge.host.balancers import MetalLB
from forge.host.files import LabFiles
from forge.host.tools import LabTools
from forge.plan import kind
from forge.plan.lab_ports import Balancers, Clusters, Files, Images, Kube, Material, Tools
from forge.plan.values import Owner
from tests.kit.fake_clusters import FakeClusters, FakeImages, Fleet
from tests.kit.fake_host import Machine
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.fake_material import FakeMaterial, Shelf
from tests.kit.labs import FakeLab


class FakeDoors:
    """The ports beside the host's, over a fleet in memory; each cluster has an API of its own."""

    def __init__(
        self, lab: Lab, fleet: Fleet, apis: dict[str, FakeCluster], shelf: Shelf | None = None
    ) -> None:
        self._lab, self._fleet, self._apis = lab, fleet, apis
        self._shelf = shelf or Shelf()

    @property
    def clusters(self) -> Clusters:
        return FakeClusters(self._fleet, self._lab.state_dir)

    @property
    def images(self) -> Images:
        return FakeImages(self._fleet)

    @property
    def balancers(self) -> Balancers:
        return MetalLB()

    @property
    def files(self) -> Files:
        return LabFiles(self._lab.root, self._lab.state_dir)

    @property
    def material(self) -> Material:
        return FakeMaterial(self._shelf)

    @property
    def tools(self) -> Tools:
        return LabTools(self._lab.root, self._lab.state_dir)

    def kube(self, cluster: str) -> Kube:
        identity = next(c.id for c in self._fleet.clusters.values() if c.resource.name == cluster)
        return FakeKube(self._apis.setdefault(identity, FakeCluster(uid=identity)), cluster)


class Clustered(FakeLab):
    """A lab with clusters on a fake machine. apis: what stands in each, by its id. shelf: what is on disk."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        super().__init__(folder, machine)
        self.fleet = Fleet()
        self.apis: dict[str, FakeCluster] = {}
        self.shelf = Shelf()

    def doors(self, lab: Lab, runtime: str, owner: Owner) -> kind.Lab:
        return FakeDoors(lab, self.fleet, self.apis, self.shelf)

    @property
    def request(self) -> Request:
        return replace(super().request, open_doors=self.doors)

    def inventory(self) -> set[str]:
        return self.machine.inventory() | self.fleet.inventory()
