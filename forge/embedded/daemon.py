"""One embedded cluster as a daemon: its folder, its port, its controllers, from start to stop.

    <dir>/admin.kubeconfig   how to reach it, as administrator
    <dir>/pid, <dir>/log     the process, and what it has to say
    <dir>/store.sqlite, <dir>/pki/   what outlives it

Optional components (the node, load balancers) are coroutines that run beside the server until it
stops; each is given the running cluster.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forge.embedded.api import bootstrap, certs, controllers, depth, kinds
from forge.embedded.api.authn import TokenReader
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.journal import Journal
from forge.embedded.api.rbac import Authorizer
from forge.embedded.api.reviews import Judges
from forge.embedded.api.server import Server
from forge.embedded.api.service import Service
from forge.embedded.api.store import Store
from forge.embedded.api.tokens import Signer
from forge.errors import OperationFailed

log = logging.getLogger(__name__)
POD_CIDR = "127.44.0.0/16"
SERVICE_CIDR = "127.96.0.0/16"


@dataclass(frozen=True, slots=True)
class Settings:
    """port: 0 for any. pods, services: CIDRs. pool: load-balancer addresses, empty for none.

    images: a file that maps image references to argv, or None. node: whether pods are run.
    interface: the one that load-balancer addresses are put on; empty where they are loopback ones.
    """

    name: str
    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    pods: str = POD_CIDR
    services: str = SERVICE_CIDR
    pool: str = ""
    images: Path | None = None
    node: bool = True
    interface: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A started cluster. url: what the kubeconfig points at."""

    settings: Settings
    cluster: Cluster
    judges: Judges
    certificates: certs.Certificates
    url: str


Component = Callable[[Running], Awaitable[None]]


async def serve(
    settings: Settings, components: Sequence[Component] = (), ready: asyncio.Event | None = None
) -> None:
    """Runs the cluster until cancelled; *ready* is set once it answers. Raises OperationFailed."""
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kinds.load()
    depth.make_room()
    journal, store = _open(settings.folder / "store.sqlite")
    cluster = Cluster(store, name=settings.name, service_cidr=settings.services)
    names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", settings.name)
    service = str(next(ipaddress.ip_network(settings.services).hosts()))
    hosts = tuple(dict.fromkeys(("127.0.0.1", settings.host, service, *names)))
    certificates = certs.ensure(settings.folder / "pki", hosts, cluster.clock())
    cluster.ca_pem = certificates.ca.read_text()
    signer = Signer(certificates.token_key)
    judges = Judges(Authorizer(cluster.store), TokenReader(cluster, signer), signer)
    server = Server(
        Service(cluster, judges), settings.host, settings.port, certs.server_context(certificates)
    )
    try:
        host, port = await _listen(server, settings)
        cluster.address = f"{host}:{port}"
        url = f"https://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104 - only compared
        running = Running(settings, cluster, judges, certificates, url)
        _prepare(running)
        await _run(running, components, ready)
    finally:
        await server.close()
        journal.close()


def _open(path: Path) -> tuple[Journal, Store]:
    try:
        journal = Journal(path)
        return journal, Store(journal)
    except (sqlite3.Error, OSError) as error:
        raise OperationFailed(
            "FG0516",
            f"cannot use the cluster's store {path}",
            why=str(error),
            hint="if it is damaged, move it away: the cluster begins anew, and what made its objects "
            "makes them again",
            changed=False,
        ) from error


async def _listen(server: Server, settings: Settings) -> tuple[str, int]:
    try:
        return await server.start()
    except OSError as error:
        raise OperationFailed(
            "FG0513",
            f"cannot listen on {settings.host}:{settings.port}",
            why=str(error),
            hint="choose another --listen address, or stop what holds this one",
            changed=False,
        ) from error


def _prepare(running: Running) -> None:
    fresh = running.cluster.store.version == 1
    bootstrap.ensure(running.cluster)
    for controller in kinds.controllers(running.cluster, running.judges):
        controller.step()
    if fresh:
        # Nobody can have seen what a new cluster is made of happen.
        running.cluster.store.compact()
    kubeconfig = certs.kubeconfig(running.settings.name, running.url, running.certificates)
    path = running.settings.folder / "admin.kubeconfig"
    temporary = path.with_suffix(".new")
    temporary.touch(mode=0o600)
    temporary.write_text(kubeconfig)
    temporary.rename(path)


async def _run(running: Running, components: Sequence[Component], ready: asyncio.Event | None) -> None:
    log.info("cluster started", extra={"cluster": running.settings.name, "url": running.url})
    async with asyncio.TaskGroup() as group:
        group.create_task(
            controllers.run(running.cluster, kinds.controllers(running.cluster, running.judges))
        )
        for component in components:
            group.create_task(_component(component, running))
        if ready is not None:
            ready.set()


async def _component(component: Component, running: Running) -> None:
    await component(running)
