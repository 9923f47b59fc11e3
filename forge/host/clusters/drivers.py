"""The Clusters port over this machine: each cluster to its driver.

Which driver a cluster has is read from its folder once it was begun, so that `down` works without
forge.yaml, and a driver that was changed in the file still finds what the old one made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

from forge.errors import OperationFailed
from forge.host.clusters import asked, embedded, existing, kubeconfig
from forge.host.clusters.asked import Asked
from forge.host.clusters.embedded import EmbeddedClusters
from forge.host.clusters.existing import ExistingClusters, Identify
from forge.host.clusters.folder import Folder
from forge.host.clusters.kind import KindClusters
from forge.host.docker_errors import refused_by_engine
from forge.host.docker_socket import engine_socket
from forge.host.engine import Engine, EngineRefused
from forge.plan.lab_ports import Access, Clusters
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Key, Observed, Owner, Recorded


def open_clusters(
    runtime: str, state_dir: Path, identify: Identify | None = None, socket: str | None = None
) -> Clusters:
    """runtime: `docker` or `embedded`. identify: asks an EXISTING cluster who it is; None: forge/host/kube
    does. socket: path of the engine's; None: where the docker command finds it."""
    return ClustersHere(runtime, state_dir, identify or _identify, socket)


def _identify(access: Access) -> str:
    from forge.host.kube.client import open_kube

    kube = open_kube(access)
    try:
        return kube.identity()
    finally:
        kube.close()


class ClustersHere:
    """state_dir: the environment's `.forge`. Nothing is reached before it is needed: without KIND
    clusters no engine is asked."""

    def __init__(self, runtime: str, state_dir: Path, identify: Identify, socket: str | None = None) -> None:
        self._state_dir = state_dir.absolute()
        self._default = Driver.EMBEDDED if runtime == "embedded" else Driver.KIND
        self._socket = socket
        self._names: dict[Key, str] = {}
        self._known_kind: KindClusters | None = None
        self._embedded = EmbeddedClusters(self._state_dir, is_last_to_use=runtime != "embedded")
        self._existing = ExistingClusters(self._state_dir, identify)

    @property
    def _kind(self) -> KindClusters:
        if self._known_kind is None:
            path = self._socket or engine_socket(os.environ, Path.home())
            self._known_kind = KindClusters(self._state_dir, Engine(path))
        return self._known_kind

    def observe(
        self, owner: Owner, wanted: Mapping[Key, ClusterResource], recorded: Mapping[Key, Recorded]
    ) -> Mapping[Key, Observed]:
        these = asked.all_of(self._state_dir, wanted, recorded, self._default)
        self._names |= {one.key: one.full_name for one in these}
        by_driver = {d: [one for one in these if one.driver is d] for d in Driver}
        looks = [(self._driver(driver).observe, group) for driver, group in by_driver.items() if group]
        with ThreadPoolExecutor(max(1, len(looks))) as pool:
            with _in_words("cannot look at clusters"):
                found = list(pool.map(lambda pair: pair[0](owner, pair[1]), looks))
            return {key: observed for part in found for key, observed in part.items()}

    def _driver(self, driver: Driver) -> KindClusters | EmbeddedClusters | ExistingClusters:
        match driver:
            case Driver.KIND:
                return self._kind
            case Driver.EMBEDDED:
                return self._embedded
            case Driver.EXISTING:
                return self._existing
        assert_never(driver)

    def create(
        self,
        key: Key,
        wanted: ClusterResource,
        owner: Owner,
        fingerprint: str,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        match wanted.driver:
            case Driver.KIND:
                with _in_words(f"cannot make {key}"):
                    return self._kind.create(key, wanted, owner, fingerprint, progress, cancel)
            case Driver.EMBEDDED:
                return self._embedded.create(key, wanted, owner, fingerprint, progress, cancel)
            case Driver.EXISTING:
                return self._existing.create(key, wanted, owner, fingerprint)
        assert_never(wanted.driver)

    def start(self, observed: Observed, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        one = self._asked(observed.key, wanted.full_name, wanted.driver)
        match one.driver:
            case Driver.KIND:
                with _in_words(f"cannot start {observed.key}"):
                    self._kind.start(one, wanted, progress, cancel)
            case Driver.EMBEDDED:
                self._embedded.start(one, wanted, progress, cancel)
            case Driver.EXISTING:
                self._existing.start(one, wanted)

    def stop(self, key: Key, full_name: str) -> None:
        one = self._asked(key, full_name, self._default)
        with _in_words(f"cannot stop {key}"):
            self._driver(one.driver).stop(one)

    def remove(self, observed: Observed, full_name: str, cancel: Cancel) -> None:  # noqa: ARG002 - it takes seconds at most
        one = self._asked(observed.key, full_name, self._default)
        match one.driver:
            case Driver.KIND:
                with _in_words(f"cannot remove {observed.key}"):
                    self._kind.remove(one, observed.owner)
            case Driver.EMBEDDED:
                self._embedded.remove(one, observed.owner)
            case Driver.EXISTING:
                self._existing.remove(one)

    def _asked(self, key: Key, full_name: str, default: Driver) -> Asked:
        folder = Folder(self._state_dir, key.name)
        about = folder.about()
        if about is None:
            name = full_name or self._names.get(key, key.name)
            return Asked(key, name, default, folder, None, is_recorded=True)
        return Asked(key, about.full_name, about.driver, folder, about, is_recorded=True)

    def access(self, name: str) -> Access:
        folder = Folder(self._state_dir, name)
        about = folder.about()
        if about is None or not about.made:
            why = "it was not made yet" if about is None else "its creation has not ended"
            raise _no_access(name, why)
        try:
            config = kubeconfig.read(folder.kubeconfig)
        except kubeconfig.Unusable as error:
            raise _no_access(name, str(error)) from error
        return existing.access_of(folder, config, about.network_server or config.server)

    def update_images(self, wanted: ClusterResource) -> None:
        if wanted.driver is Driver.EMBEDDED:
            embedded.update_images(self._state_dir, wanted)


@contextmanager
def _in_words(what: str) -> Iterator[None]:
    """An engine's refusal as an error people can read."""
    try:
        yield
    except EngineRefused as refused:
        raise refused_by_engine(what, refused) from refused


def _no_access(name: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0706",
        f"there is no access to cluster {name!r}",
        why=why,
        hint="run `praxis-forge up`",
        changed=False,
    )
