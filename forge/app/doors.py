"""The ports beside the host's, each opened when it is first used: most commands need none of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from forge.app.lab import Lab
    from forge.plan import kind
    from forge.plan.lab_ports import Balancers, Clusters, Files, Images, Kube, Material, Tools
    from forge.plan.values import Owner

T = TypeVar("T")


class Doors:
    """What forge.plan.kind.Lab asks for, on this machine. May be used from several threads."""

    def __init__(self, lab: Lab, runtime: str, owner: Owner) -> None:
        self._lab = lab
        self._runtime = runtime
        self._owner = owner
        self._opened: dict[str, object] = {}
        self._lock = threading.RLock()

    @property
    def clusters(self) -> Clusters:
        from forge.host.clusters.drivers import open_clusters

        return self._open("clusters", lambda: open_clusters(self._runtime, self._state_dir))

    @property
    def images(self) -> Images:
        from forge.host.images import open_images

        return self._open("images", lambda: open_images(self._runtime, self._state_dir))

    @property
    def balancers(self) -> Balancers:
        from forge.host.balancers import MetalLB

        return self._open("balancers", MetalLB)

    @property
    def material(self) -> Material:
        from forge.host.material.store import open_material

        return self._open("material", lambda: open_material(self._state_dir))

    @property
    def files(self) -> Files:
        from forge.host.files import LabFiles

        return self._open("files", lambda: LabFiles(self._lab.root, self._state_dir))

    @property
    def tools(self) -> Tools:
        from forge.host.tools import LabTools

        return self._open("tools", lambda: LabTools(self._lab.root, self._state_dir))

    def kube(self, cluster: str) -> Kube:
        from forge.host.kube.client import open_kube

        access = self.clusters.access(cluster)
        made = access.kubeconfig.stat().st_mtime_ns  # another one, where the run has replaced the cluster
        return self._open(f"kube {cluster} {made}", lambda: open_kube(access, cluster))

    @property
    def _state_dir(self) -> Path:
        return self._lab.state_dir

    def _open(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = make()
            return cast("T", self._opened[name])  # each name has one maker


Opener: TypeAlias = "Callable[[Lab, str, Owner], kind.Lab]"
"""(lab, runtime, owner) -> its doors."""
