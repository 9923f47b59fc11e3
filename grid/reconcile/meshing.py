"""The mesh as the operator runs it: opened by the leader, one node a network, closed without a goodbye.

    keep, rest        what is wanted, and that another leads
    publish           what this site offers and is -> its tellers -> lanes
    members, ...      what others say, as the World needs it

`keep` says what is wanted and returns at once; one task makes it so, and tries again what failed. Only a
network that is gone is left; a leader that ends hands its members over to the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from grid.crd.network import GridNetwork
from grid.kube.port import Kube, KubeFault
from grid.mesh.udp import Mesh, open_mesh
from grid.reconcile.gossip import OwnPlace
from grid.reconcile.hosting import LOOK_S, Hosting, Line, Site, Wanted, wanted_of
from grid.reconcile.marking import Marking
from grid.reconcile.settings import MeshSettings
from grid.reconcile.world import Capacity, Member, MeshStanding
from grid.swim.codec import Unspeakable
from grid.swim.messages import Event, FactHeard, Lane

log = logging.getLogger(__name__)
PASS_S: Final = 1.0


@dataclass(slots=True)
class Meshing:
    """site, namespace: our own. wake: called when anything was heard. now: Unix seconds. nonce: 12 bytes.

    chance: what each node's own chance is drawn from. opened: the mesh while it runs. cut: advertised
    addresses that are neither heard nor spoken to, for tests.
    """

    kube: Kube
    settings: MeshSettings
    site: str
    namespace: str
    wake: Callable[[], None]
    now: Callable[[], float]
    chance: random.Random
    nonce: Callable[[], bytes]
    opened: Mesh | None = None
    cut: frozenset[str] = frozenset()
    _wanted: dict[str, Wanted] = field(default_factory=dict)
    _unread: frozenset[str] = frozenset()
    _lines: dict[str, Line] = field(default_factory=dict)
    _standings: dict[str, MeshStanding] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None
    _poked: asyncio.Event = field(default_factory=asyncio.Event)
    _marked_at: float = 0.0
    _capacities: tuple[Capacity, ...] = ()

    # What the loop calls

    def keep(
        self, group: asyncio.TaskGroup, networks: tuple[GridNetwork, ...], unread: frozenset[str]
    ) -> None:
        wanted = {network.metadata.name: wanted_of(network) for network in networks}
        if wanted != self._wanted or unread != self._unread:
            self._wanted, self._unread = wanted, unread
            self._poked.set()
        if any(each.key for each in wanted.values()) and (self._task is None or self._task.done()):
            self._task = group.create_task(self._run(group))

    def rest(self) -> None:
        """Another replica leads: close without a goodbye, and forget."""
        if self._task is not None:
            self._task.cancel()

    def publish(self, capacities: tuple[Capacity, ...], own: OwnPlace) -> None:
        """Only what is due goes out."""
        mesh, now = self.opened, self.now()
        if mesh is None:
            return
        for name, line in self._lines.items():
            mine = sorted((c for c in capacities if c.network == name), key=lambda c: c.provider)
            revision = line.node.view.revisions.get(Lane.STATE, 0) + 1
            for lane, payload in line.teller.due(mine, own, revision, now):
                self._say(mesh, name, lane, payload)

    def capacities(self) -> tuple[Capacity, ...]:
        found = [line.listener.capacities() for line in self._lines.values()]
        if len(found) == 1:
            return found[0]
        whole = tuple(each for same in found for each in same)
        if len(whole) != len(self._capacities) or any(
            a is not b for a, b in zip(whole, self._capacities, strict=True)
        ):
            self._capacities = whole
        return self._capacities

    def members(self) -> Mapping[tuple[str, str], Member]:
        return {
            (name, site): member
            for name, line in self._lines.items()
            for site, member in line.listener.members.items()
        }

    def certificates(self) -> Mapping[tuple[str, str], bytes]:
        return {
            (name, site): pem
            for name, line in self._lines.items()
            for site, pem in line.listener.heard.certs.items()
        }

    def heard(self) -> bool:
        for name, wanted in self._wanted.items():
            line = self._lines.get(name)
            if line is None:
                if wanted.key is not None and name not in self._standings:
                    return False
            elif line.calls_somebody and not line.has_met:
                return False
        return True

    def standings(self) -> Mapping[str, MeshStanding]:
        now = self.now()
        return {
            name: replace(found, taken_by=self._lines[name].listener.taken_by(now))
            if name in self._lines
            else found
            for name, found in self._standings.items()
            if name in self._wanted
        }

    def described(self) -> list[dict[str, object]]:
        """For /status."""
        return [
            {
                "network": name,
                "address": line.node.view.me.address,
                "incarnation": line.node.view.me.incarnation,
                "members": {site: member.state for site, member in sorted(line.listener.members.items())},
            }
            for name, line in self._lines.items()
        ]

    def sever(self, addresses: frozenset[str]) -> None:
        """As if the network between were broken; for tests of partitions."""
        self.cut = addresses
        if self.opened is not None:
            self.opened.cut = addresses

    # The task

    async def _run(self, group: asyncio.TaskGroup) -> None:
        settings, self._standings = self.settings, {}
        try:
            async with open_mesh(group, settings.host, settings.port, self._report) as mesh:
                mesh.cut = self.cut
                self.opened = mesh
                log.info("mesh opened", extra={"address": self._address(mesh)})
                await self._look_after(mesh)
        except OSError as fault:
            where = f"{settings.host}:{settings.port}"
            said = MeshStanding(running=False, reason="BindFailed", message=f"{where}: {fault.strerror}")
            self._standings = {name: said for name, each in self._wanted.items() if each.key}
            log.warning("mesh not opened", extra={"address": where, "reason": str(fault.strerror)})
            self.wake()
            await asyncio.sleep(PASS_S)
        finally:
            self.opened = None
            self._lines.clear()
            self._marked_at = 0.0

    async def _look_after(self, mesh: Mesh) -> None:
        address = self._address(mesh)
        site = Site(self.site, self.namespace, address, self.now, self.chance, self.nonce, self.wake)
        hosting = Hosting(self.kube, mesh, site, self._lines, self._standings)
        while True:
            self._poked.clear()
            await hosting.attend(self._wanted, self._unread)
            await self._mark()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PASS_S):
                    await self._poked.wait()

    async def _mark(self) -> None:
        if self.now() - self._marked_at < LOOK_S:
            return
        try:
            await Marking(self.kube, self.namespace, self.settings.pod).hold()
        except KubeFault as fault:
            log.warning("mark not held", extra={"status": fault.status, "reason": fault.reason})
        else:
            self._marked_at = self.now()

    def _address(self, mesh: Mesh) -> str:
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return self.settings.advertise or f"{host}:{mesh.port}"

    # What the mesh reports

    def _report(self, network: str, event: Event) -> None:
        line, mesh = self._lines.get(network), self.opened
        if line is None or mesh is None:
            return
        age_s = mesh.age_s(network, event.lane, event.origin) if isinstance(event, FactHeard) else None
        if line.listener.hear(event, age_s or 0.0, self.now()):
            self.wake()

    def _say(self, mesh: Mesh, network: str, lane: Lane, payload: bytes) -> None:
        try:
            mesh.publish(network, lane, payload)
        except Unspeakable as fault:
            log.warning("not told", extra={"network": network, "lane": lane.name, "reason": str(fault)})
