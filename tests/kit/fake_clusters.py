"""Clusters, images on their nodes and load balancers in memory, which keep the ports' contracts and can
be told to misbehave.

A Fleet outlives the fakes that work on it, as an engine outlives the commands:

    fleet.fail["create_cluster east"] = [error, error]   the next two such calls raise these
    fleet.before, fleet.halfway, fleet.after             hooks, called with `create_cluster east`

A hook may raise a ForgeError (the call fails and leaves nothing) or fake_host.Killed (the command is
killed there: what was half made stays). The names of calls: create_cluster, start_cluster, stop_cluster,
remove_cluster, with a cluster's name in forge.yaml; build_image and load_image with a reference;
install_balancer with a cluster.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forge.errors import ForgeError, Interrupted, NotOurs, OperationFailed
from forge.plan.lab_ports import Access, Kube, ObjectRef
from forge.plan.lab_resources import BalancerResource, ClusterResource, Driver
from forge.plan.ports import Cancel, Progress
from forge.plan.resources import ImageResource
from forge.plan.values import Key, Observed, Owner, Phase, Recorded


@dataclass(slots=True)
class FakeCluster:
    """One cluster as it stands. whole: its creation ended. answers: its API. images: of its nodes,
    by reference. mapped: what stands for which image."""

    resource: ClusterResource
    id: str
    owner: Owner | None
    fingerprint: str
    whole: bool = False
    running: bool = True
    answers: bool = True
    images: dict[str, str] = field(default_factory=dict)
    mapped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class Fleet:
    """clusters: by full name. contexts: of the user's kubeconfig, with the id of the cluster behind
    each. local: images of the engine, by reference. slow: seconds each creation takes. calls: all that
    changed something, in order."""

    clusters: dict[str, FakeCluster] = field(default_factory=dict)
    contexts: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=lambda: {"app:1": "sha256:app-1"})
    pools: dict[str, str] = field(default_factory=dict)
    slow: float = 0.0
    fail: dict[str, list[ForgeError]] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _: None
    halfway: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    calls: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def inventory(self) -> set[str]:
        """Everything there is, by name: for `before up` against `after down`."""
        return {f"cluster {name}" for name in self.clusters}

    def began(self, call: str) -> None:
        """A call that changes something begins. Raises what was ordered for it."""
        self.before(call)
        with self.lock:
            self.calls.append(call)
            errors = self.fail.get(call)
            error = errors.pop(0) if errors else None
        if error is not None:
            raise error


class FakeClusters:
    """The Clusters port over a Fleet. state_dir: where access files go."""

    def __init__(self, fleet: Fleet, state_dir: Path) -> None:
        self.fleet = fleet
        self._state_dir = state_dir

    def observe(
        self, owner: Owner, wanted: Mapping[Key, ClusterResource], recorded: Mapping[Key, Recorded]
    ) -> Mapping[Key, Observed]:
        names = {key: record.name for key, record in recorded.items() if key.kind == "cluster"}
        names |= {key: resource.full_name for key, resource in wanted.items()}
        with self.fleet.lock:
            return {
                key: _observed(key, self.fleet.clusters[name])
                for key, name in names.items()
                if name in self.fleet.clusters
            }

    def create(
        self,
        key: Key,
        wanted: ClusterResource,
        owner: Owner,
        fingerprint: str,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        fleet, call = self.fleet, f"create_cluster {wanted.name}"
        fleet.began(call)
        with fleet.lock:
            identity = self._free(key, wanted, owner)
            made = FakeCluster(wanted, identity, owner, fingerprint, mapped=dict(wanted.images))
            fleet.clusters[wanted.full_name] = made
        try:
            progress("preparing nodes")
            fleet.halfway(call)
            if cancel.wait(fleet.slow) if fleet.slow else cancel.is_set():
                raise Interrupted("FG0704", f"making {key} was stopped", signal_number=2)
        except ForgeError:
            with fleet.lock:
                del fleet.clusters[wanted.full_name]
            raise
        made.whole = True
        self._write_access(wanted)
        fleet.after(call)
        return identity

    def _free(self, key: Key, wanted: ClusterResource, owner: Owner) -> str:
        """The id of the cluster to be made, once there is nothing in its way."""
        found = self.fleet.clusters.get(wanted.full_name)
        if found is not None and found.owner != owner:
            raise NotOurs("FG0701", f"cannot make {key}", why="the name is taken", changed=False)
        if wanted.driver is not Driver.EXISTING:
            return f"uid-{next(self.fleet.numbers)}"
        if wanted.context not in self.fleet.contexts:
            raise OperationFailed("FG0708", f"there is no context {wanted.context!r}", changed=False)
        return self.fleet.contexts[wanted.context]

    def start(self, observed: Observed, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        call = f"start_cluster {wanted.name}"
        self.fleet.began(call)
        with self.fleet.lock:
            found = self.fleet.clusters.get(wanted.full_name)
            if found is None:
                raise OperationFailed("FG0706", f"{observed.key} is gone")
            found.running = found.answers = True
        self.fleet.after(call)

    def stop(self, key: Key, full_name: str) -> None:
        call = f"stop_cluster {key.name}"
        self.fleet.began(call)
        with self.fleet.lock:
            if full_name in self.fleet.clusters:
                self.fleet.clusters[full_name].running = False
        self.fleet.after(call)

    def remove(self, observed: Observed, full_name: str, cancel: Cancel) -> None:
        call = f"remove_cluster {observed.key.name}"
        self.fleet.began(call)
        with self.fleet.lock:
            name = full_name or self._full_name(observed)
            found = self.fleet.clusters.get(name)
            if found is not None and found.owner != observed.owner:
                raise NotOurs("FG0701", f"cannot remove {observed.key}", why="it is not ours", changed=False)
            self.fleet.clusters.pop(name, None)
            self._kubeconfig(observed.key.name).unlink(missing_ok=True)
        self.fleet.after(call)

    def _full_name(self, observed: Observed) -> str:
        """As the records know it."""
        mine = (
            name
            for name, c in self.fleet.clusters.items()
            if c.resource.name == observed.key.name and c.owner == observed.owner
        )
        return next(mine, "")

    def access(self, name: str) -> Access:
        with self.fleet.lock:
            found = next((c for c in self.fleet.clusters.values() if c.resource.name == name), None)
        if found is None or not found.whole or not found.running:
            raise OperationFailed("FG0706", f"cluster {name!r} does not stand", changed=False)
        server = f"https://{found.resource.full_name}.test:6443"
        return Access(self._kubeconfig(name), found.resource.full_name, server, server, b"")

    def update_images(self, wanted: ClusterResource) -> None:
        with self.fleet.lock:
            found = self.fleet.clusters.get(wanted.full_name)
            if found is not None and wanted.driver is Driver.EMBEDDED:
                found.mapped = dict(wanted.images)

    def _kubeconfig(self, name: str) -> Path:
        return self._state_dir / "clusters" / name / "kubeconfig"

    def _write_access(self, wanted: ClusterResource) -> None:
        file = self._kubeconfig(wanted.name)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        name, server = wanted.full_name, f"https://{wanted.full_name}.test:6443"
        file.write_text(
            f"current-context: {name}\ncontexts: [{{name: {name}, context: {{cluster: {name}, user: {name}}}}}]\n"
            f"clusters: [{{name: {name}, cluster: {{server: {server}}}}}]\n"
            f"users: [{{name: {name}, user: {{token: {name}}}}}]\n"
        )


def _observed(key: Key, found: FakeCluster) -> Observed:
    if not found.whole:
        phase, detail = Phase.BROKEN, "it was only half made"
    elif not (found.running and found.answers):
        phase, detail = Phase.STOPPED, "" if not found.running else "its API does not answer"
    else:
        phase, detail = Phase.RUNNING, ""
    kept = found.resource.driver is Driver.EXISTING
    return Observed(key, found.owner, found.fingerprint, phase, id=found.id, detail=detail, kept=kept)


class FakeImages:
    """The Images port over a Fleet: `build` makes what is asked for, `load` knows the engine's images."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def build(self, wanted: ImageResource, owner: Owner, progress: Progress, cancel: Cancel) -> str:
        call = f"build_image {wanted.reference}"
        self.fleet.began(call)
        progress("step 1 of 1")
        self.fleet.halfway(call)
        with self.fleet.lock:
            self.fleet.local[wanted.reference] = f"sha256:built-{next(self.fleet.numbers)}"
        self.fleet.after(call)
        return self.fleet.local[wanted.reference]

    def on_nodes(self, cluster: ClusterResource, references: Collection[str]) -> Mapping[str, str]:
        with self.fleet.lock:
            found = self.fleet.clusters.get(cluster.full_name)
            held = {} if found is None else found.images
            return {r: i for r, i in held.items() if r in references and self.fleet.local.get(r, i) == i}

    def load(
        self,
        reference: str,
        clusters: Sequence[ClusterResource],
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        call = f"load_image {reference}"
        self.fleet.began(call)
        with self.fleet.lock:
            identity = self.fleet.local.get(reference)
            if identity is None:
                raise OperationFailed("FG0712", f"image {reference!r} is not here", changed=False)
            for cluster in clusters:
                self.fleet.clusters[cluster.full_name].images[reference] = identity
        self.fleet.after(call)
        return identity


class FakeBalancers:
    """The Balancers port over a Fleet; touches no Kube."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def install(
        self, wanted: BalancerResource, owner: Owner, kube: Kube, progress: Progress, cancel: Cancel
    ) -> tuple[ObjectRef, ...]:
        call = f"install_balancer {wanted.cluster}"
        self.fleet.began(call)
        with self.fleet.lock:
            self.fleet.pools[wanted.cluster] = wanted.pool
        self.fleet.after(call)
        place = ("metallb.io/v1beta1", "IPAddressPool", "metallb-system", "forge-pool")
        return (ObjectRef(*place, uid=f"pool-{wanted.cluster}", generation=1),)
