"""The ports beside the host's, over fakes in memory."""

from __future__ import annotations

from forge.app.lab import Lab
from forge.host.balancers import MetalLB
from forge.host.files import LabFiles
from forge.host.tools import LabTools
from forge.plan.lab_ports import Balancers, Clusters, Files, Images, Kube, Material, Tools
from tests.kit.fake_clusters import FakeClusters, FakeImages, Fleet
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.fake_material import FakeMaterial, Shelf


class FakeDoors:
    """The ports beside the host's, over a fleet in memory; each cluster has an API of its own."""

    def __init__(self, lab: Lab, fleet: Fleet, apis: dict[str, FakeCluster]) -> None:
        self._lab, self._fleet, self._apis = lab, fleet, apis
        self._shelf = Shelf()

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
