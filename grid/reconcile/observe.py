"""Fills the World: mirrors of the API, probes, the mesh; reads what changed once, and decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from grid.contract.names import (
    ANNOTATION_REVISION,
    LABEL_GATEWAY,
    LABEL_MANAGED_BY,
    LABEL_NETWORK,
    OVERLAY_KEY,
    OVERLAY_PREFIX,
)
from grid.crd.base import ResourceInvalid, View
from grid.crd.network import GridNetwork, read_network
from grid.crd.provider import InferenceProvider, read_provider
from grid.crd.site import GridSite, read_site
from grid.kube.port import (
    CONFIG_MAP,
    FIELD_MANAGER,
    GRID_NETWORK,
    GRID_SITE,
    INFERENCE_PROVIDER,
    SERVICE,
    Document,
    Kube,
)
from grid.kube.watch import Mirror
from grid.reconcile.gossip import OwnPlace
from grid.reconcile.identity import Identity
from grid.reconcile.mesh import Mesh
from grid.reconcile.own_place import Certificate, address_of, said_of
from grid.reconcile.reach import Reacher, doors
from grid.reconcile.scrape import Prober, plans
from grid.reconcile.settings import GatewayService
from grid.reconcile.world import Identified, Stored, World

V = TypeVar("V", bound=View)


@dataclass(slots=True)
class Shelf:
    """The views of one mirror, each read once a version. broken: problems by `Kind name`."""

    mirror: Mirror
    read: Callable[[Mapping[str, Any]], Any]
    views: tuple[Any, ...] = ()
    broken: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _count: int = -1
    _read: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def refresh(self) -> None:
        """Reads what is new since the last time."""
        if self._count == self.mirror.count:
            return
        self._count = self.mirror.count
        self.broken = {}
        found: dict[str, tuple[str, Any]] = {}
        for (_, name), document in sorted(self.mirror.objects.items()):
            version = str(document["metadata"].get("resourceVersion", ""))
            known = self._read.get(name)
            try:
                view = known[1] if known and known[0] == version else self.read(document)
            except ResourceInvalid as invalid:
                self.broken[f"{invalid.kind} {invalid.name}"] = invalid.problems
                continue
            found[name] = (version, view)
            # What was read is held once, as a view; the mirror needs only to tell it from a newer one.
            document.pop("spec", None)
            document.pop("status", None)
        self._read = found
        self.views = tuple(view for _, view in found.values())


@dataclass(slots=True)
class Observer:
    """site, namespace: our own. wake: called when anything changed. now: Unix seconds."""

    kube: Kube
    site: str
    namespace: str
    mesh: Mesh
    prober: Prober
    reacher: Reacher
    identity: Identity
    wake: Callable[[], None]
    now: Callable[[], float]
    random: Callable[[], float]
    gateway: GatewayService | None = None
    started_at: float = 0.0
    configmaps: dict[str, Mirror] = field(default_factory=dict)
    _networks: Shelf = field(init=False)
    _sites: Shelf = field(init=False)
    _providers: Shelf = field(init=False)
    _services: Mirror | None = None
    _certificate: Certificate = field(init=False)

    def __post_init__(self) -> None:
        def shelf(kind: Any, read: Callable[[Mapping[str, Any]], Any]) -> Shelf:
            return Shelf(Mirror(self.kube, kind, self.wake, self.random), read)

        self._certificate = Certificate(self.identity.folder)
        if self.gateway is not None:
            self._services = Mirror(self.kube, SERVICE, self.wake, self.random, self.gateway.namespace)
        self._networks = shelf(GRID_NETWORK, read_network)
        self._sites = shelf(GRID_SITE, read_site)
        self._providers = shelf(INFERENCE_PROVIDER, read_provider)

    @property
    def reads(self) -> bool:
        """Whether the resources have been read once."""
        return all(shelf.mirror.synced for shelf in self._shelves)

    @property
    def synced(self) -> bool:
        """Whether all that a decision needs has been read once; before that, absent is not gone."""
        mirrored = all(mirror.synced or mirror.refused for mirror in self.configmaps.values())
        return self.reads and mirrored and self.configmaps.keys() >= self._namespaces()

    def lost(self) -> Iterator[str]:
        """What is not heard of now, and why."""
        for shelf in self._shelves:
            if shelf.mirror.lost:
                yield f"{shelf.mirror.kind.name}s are not heard of: {shelf.mirror.lost}"

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Starts the mirrors of the three resources."""
        for shelf in self._shelves:
            group.create_task(shelf.mirror.run())
        if self._services is not None:
            group.create_task(self._services.run())

    def follow(self, group: asyncio.TaskGroup) -> None:
        """Brings probes and ConfigMap mirrors in step with the resources there are."""
        self._refresh()
        for namespace in self._namespaces() - self.configmaps.keys():
            mirror = Mirror(
                self.kube, CONFIG_MAP, self.wake, self.random, namespace, {LABEL_MANAGED_BY: FIELD_MANAGER}
            )
            self.configmaps[namespace] = mirror
            group.create_task(mirror.run())
        networks = {network.metadata.name: network for network in self.networks}
        self.prober.keep(group, plans(self.providers, networks))
        self.reacher.keep(group, doors(self.sites, self.networks, self.site))

    def rest(self) -> None:
        """Asks nobody: another replica does."""
        self.prober.stop()
        self.reacher.stop()
        self.mesh.rest()

    def keep_membership(self, group: asyncio.TaskGroup) -> None:
        """Brings the mesh in step with the networks there are; only once they have been read."""
        broken = (who.partition(" ")[2] for who in self._networks.broken)
        self.mesh.keep(group, self.networks, frozenset(broken))

    def own_place(self) -> OwnPlace:
        """What this site says of itself beside its state."""
        own = self._own_site()
        address = self._gateway_address() or (own.endpoint.address if own and own.endpoint else "")
        pem = self._certificate.pem()
        return OwnPlace(said_of(own, self._certificate.server_name), address, pem)

    def world(self, unwritten: Mapping[tuple[str, str], str]) -> World:
        """All that is known now. unwritten: as `World` has it."""
        self._refresh()
        return World(
            site=self.site,
            namespace=self.namespace,
            networks=self.networks,
            sites=self.sites,
            providers=self.providers,
            unreadable={who: why for shelf in self._shelves for who, why in shelf.broken.items()},
            health=dict(self.prober.health),
            readings=dict(self.prober.readings),
            unread=self.prober.unread(),
            capacities=self.mesh.capacities(),
            members=self.mesh.members(),
            reached=dict(self.reacher.reached),
            identity=self._own_identity(self._own_site()),
            gateways=dict(self.reacher.gateways),
            stored=tuple(
                _stored(document)
                for mirror in self.configmaps.values()
                if not mirror.refused
                for document in mirror.objects.values()
                if _is_overlay(document)
            ),
            closed={name: mirror.lost for name, mirror in self.configmaps.items() if mirror.refused},
            unwritten=dict(unwritten),
            gateway=self._gateway_address(),
            meshes=self.mesh.standings(),
            certificates=self.mesh.certificates(),
            started_at=self.started_at,
            settled=self.mesh.heard() and self.prober.heard(),
        )

    def mirror_of(self, kind: str, namespace: str = "") -> Mirror | None:
        """Where an answer to a write of ours belongs."""
        if kind == CONFIG_MAP.name:
            return self.configmaps.get(namespace)
        return next((shelf.mirror for shelf in self._shelves if shelf.mirror.kind.name == kind), None)

    @property
    def networks(self) -> tuple[GridNetwork, ...]:
        return self._networks.views

    @property
    def sites(self) -> tuple[GridSite, ...]:
        return self._sites.views

    @property
    def providers(self) -> tuple[InferenceProvider, ...]:
        return self._providers.views

    @property
    def _shelves(self) -> tuple[Shelf, ...]:
        return (self._networks, self._sites, self._providers)

    def _refresh(self) -> None:
        for shelf in self._shelves:
            shelf.refresh()

    def _namespaces(self) -> set[str]:
        """Where overlays are, or were when a status was last written: those are to be taken away."""
        found = {self.namespace}
        for network in self.networks:
            found.update(ref.namespace for ref in network.spec.gateway_refs)
            if network.status is not None:
                found.update(each.namespace for each in network.status.overlay_status)
        return found

    def _own_site(self) -> GridSite | None:
        return next((site for site in self.sites if site.metadata.name == self.site), None)

    def _gateway_address(self) -> str:
        if self.gateway is None or self._services is None:
            return ""
        service = self._services.objects.get((self.gateway.namespace, self.gateway.name))
        return address_of(service, self.gateway.port) if service else ""

    def _own_identity(self, own: GridSite | None) -> Identified | None:
        return None if own is None else self.identity.check(own, self.now())


def _is_overlay(document: Document) -> bool:
    """Whether a ConfigMap is one of ours to keep or take away: by its name and what it says it is for."""
    metadata = document["metadata"]
    named = str(metadata["name"]).startswith(OVERLAY_PREFIX)
    return named and metadata.get("labels", {}).keys() >= {LABEL_NETWORK, LABEL_GATEWAY}


def _stored(document: Document) -> Stored:
    metadata = document["metadata"]
    labels, data = metadata.get("labels", {}), document.get("data") or {}
    annotations = metadata.get("annotations", {})
    return Stored(
        namespace=str(metadata["namespace"]),
        name=str(metadata["name"]),
        network=str(labels.get(LABEL_NETWORK, "")),
        gateway=str(labels.get(LABEL_GATEWAY, "")),
        text=data.get(OVERLAY_KEY),
        revision=int(counted)
        if (counted := str(annotations.get(ANNOTATION_REVISION, ""))).isdecimal()
        else 0,
    )
