"""The node: its own object, one worker for each pod, and what wakes them.

Its processes die with it. A node that begins on the folder of an earlier one finds what that one left
ended and known (`process/supervisor.py`): pods that still have their object go on with the same object,
counted as restarted; the rest is cleared away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.status import ApiError
from forge.embedded.api.tokens import Signer
from forge.embedded.api.values import Event, Json
from forge.embedded.node import machine
from forge.embedded.node.hands import Hands
from forge.embedded.node.images import Images
from forge.embedded.node.objects import CONFIG_MAPS, NODES, PODS, SECRETS, Objects, uid_of
from forge.embedded.node.recorder import Recorder
from forge.embedded.node.worker import Worker
from forge.embedded.process import environ, procfs
from forge.embedded.process.spec import Status
from forge.embedded.process.supervisor import Supervisor

log = logging.getLogger(__name__)
_RENEW_S = 60.0
"""How often the Node says that it lives; it needs no Lease, since it lives and dies with the API."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a node runs. folder: its own, for pods and their processes. url: of the API."""

    cluster: Cluster
    signer: Signer
    folder: Path
    name: str
    cidr: str
    images: Path | None
    url: str


@dataclass(slots=True)
class Kubelet:
    """One node. Must be made and run in the main thread."""

    site: Site
    supervisor: Supervisor
    _machine: machine.Machine = field(init=False)
    hands: Hands = field(init=False)
    _workers: dict[str, Worker] = field(default_factory=dict)
    _group: asyncio.TaskGroup | None = None

    def __post_init__(self) -> None:
        site = self.site
        self._machine = _machine(site.folder)
        self.hands = Hands(
            cluster=site.cluster,
            objects=Objects(site.cluster, "kubelet"),
            recorder=Recorder(site.cluster, "kubelet", site.name),
            supervisor=self.supervisor,
            images=Images(site.images),
            signer=site.signer,
            folder=site.folder,
            node=site.name,
            cidr=site.cidr,
            base=environ.base(os.environ, str(Path(sys.executable).parent)),
            capacity=machine.capacity(self._machine),
            url=site.url,
        )

    async def run(self) -> None:
        """Until cancelled; then ends every process it runs."""
        site = self.site
        self.register()
        unsubscribe = self.supervisor.subscribe(self._process_changed)
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                await self._clear_leftovers()
                site.cluster.store.subscribe(self._object_changed)
                for pod in self.hands.objects.all(PODS):
                    self._meet(pod)
                group.create_task(self._beat())
        finally:
            self._group = None
            unsubscribe()
            await self.supervisor.close()

    def register(self) -> None:
        """Makes or refreshes the Node object."""
        site, objects = self.site, self.hands.objects
        address = self.hands.address
        found = objects.get(NODES, site.name)
        before: Json = (found or {}).get("status") or {}
        port = int(site.url.rpartition(":")[2])
        status = machine.status(site.name, address, self._machine, port, before, site.cluster.now())
        if found is None:
            # With its status at once: a node that is not ready is tainted when it is created.
            document = machine.node(site.name, address, site.cidr, self._machine)
            objects.create(NODES, document | {"status": status})
            self.hands.recorder.note(
                document | {"metadata": {"name": site.name, "uid": site.name}},
                "Starting",
                "Starting kubelet.",
            )
        else:
            objects.put_status(NODES, found, status)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            try:
                self.register()
            except ApiError as error:  # the store is full, for one; pods go on, and the next beat comes
                log.warning("node not renewed", extra={"reason": error.message})

    async def _clear_leftovers(self) -> None:
        known = {uid_of(pod) for pod in self.hands.objects.all(PODS)}
        for status in self.supervisor.statuses():
            if status.name.partition(".")[0] not in known:
                await self.supervisor.remove(status.name, 0.0)
        pods = self.site.folder / "pods"
        if pods.is_dir():
            for place in pods.iterdir():
                if place.name not in known:
                    shutil.rmtree(place, ignore_errors=True)

    def _meet(self, pod: Json) -> None:
        """A worker for the pod, or word to the one it has."""
        node = pod["spec"].get("nodeName")
        if self._group is None or node not in (None, "", self.site.name):
            return
        uid = uid_of(pod)
        worker = self._workers.get(uid)
        if worker is not None:
            worker.bell.set()
            return
        meta = pod["metadata"]
        worker = Worker(self.hands, uid, meta["name"], meta["namespace"], self._group)
        if (pod.get("status") or {}).get("podIP"):
            self.hands.lease(pod)
        run = worker.run()
        try:
            task = self._group.create_task(run)
        except RuntimeError:  # the node is about to end; the next one meets the pod
            run.close()
            return
        self._workers[uid] = worker
        task.add_done_callback(lambda _: self._workers.pop(uid, None))

    def _object_changed(self, event: Event) -> None:
        resource = event.record.key.resource
        if resource == PODS:
            self._meet(event.record.object)
        elif resource in (CONFIG_MAPS, SECRETS):
            for worker in self._workers.values():
                if worker.namespace == event.record.key.namespace:
                    worker.bell.set()
        elif resource == NODES:
            for worker in self._workers.values():
                worker.bell.set()

    def _process_changed(self, status: Status) -> None:
        worker = self._workers.get(status.name.partition(".")[0])
        if worker is not None:
            worker.bell.set()


def _machine(folder: Path) -> machine.Machine:
    memory, identity = "", ""
    with contextlib.suppress(OSError):
        memory = Path("/proc/meminfo").read_text()
        identity = Path("/etc/machine-id").read_text().strip()
    boot = procfs.boot_id()
    disk = shutil.disk_usage(folder).total
    return machine.read(memory, disk, os.cpu_count() or 1, boot, identity or boot)
