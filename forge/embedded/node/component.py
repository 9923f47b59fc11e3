"""The node half of an embedded cluster as one component of its daemon: kubelet, controllers, Services."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import socket

from forge.embedded.api import controllers
from forge.embedded.daemon import Running, Settings
from forge.embedded.lb.balancer import Balancer
from forge.embedded.lb.interface import Interface
from forge.embedded.lb.proxy import Proxy
from forge.embedded.node.deployments import Deployments
from forge.embedded.node.endpoints import EndpointSlices
from forge.embedded.node.kubelet import Kubelet, Site
from forge.embedded.node.lifecycle import Lifecycle
from forge.embedded.node.podlogs import PodLogs
from forge.embedded.node.replicasets import ReplicaSets
from forge.embedded.process import descriptors
from forge.embedded.process.supervisor import Supervisor
from forge.errors import OperationFailed


def check(settings: Settings) -> None:
    """Raises OperationFailed where this machine cannot give pods, Services and load balancers addresses
    of their own."""
    for cidr in (settings.pods, settings.services):
        address = str(ipaddress.ip_network(cidr)[1])
        try:
            with socket.socket() as probe:
                probe.bind((address, 0))
        except OSError as error:
            raise OperationFailed(
                "FG0515",
                f"cannot use addresses of {cidr}",
                why=f"{address}: {error.strerror}",
                hint="on Linux all of 127.0.0.0/8 can be used; other systems need an alias for each address, "
                "or --api-only",
                changed=False,
            ) from error


async def run(running: Running) -> None:
    """Until cancelled. Raises OSError when the node's folder cannot be used."""
    settings, cluster = running.settings, running.cluster
    descriptors.make_room()
    folder = settings.folder.resolve() / "node"
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)  # Secrets are projected below it
    supervisor = Supervisor(folder / "processes", _scope(running))
    site = Site(
        cluster=cluster,
        signer=running.judges.signer,
        folder=folder,
        name=settings.name,
        cidr=settings.pods,
        images=settings.images.resolve() if settings.images else None,
        url=running.url,
    )
    kubelet = Kubelet(site, supervisor)
    cluster.logs = PodLogs(supervisor)
    interface = Interface(settings.interface) if settings.interface else None
    proxy = Proxy(cluster, asyncio.get_running_loop(), kubelet.hands.address, settings.pool, interface)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(kubelet.run())
            group.create_task(
                controllers.run(
                    cluster,
                    (
                        Deployments(cluster),
                        ReplicaSets(cluster),
                        EndpointSlices(cluster),
                        Lifecycle(cluster),
                        Balancer(cluster, settings.pool),
                        proxy,
                    ),
                )
            )
    finally:
        proxy.close()


def _scope(running: Running) -> str:
    """Marks this cluster's processes among all of the machine: two may share a name, not a folder."""
    place = str(running.settings.folder.resolve())
    return f"{running.settings.name}.{hashlib.sha256(place.encode()).hexdigest()[:12]}"
