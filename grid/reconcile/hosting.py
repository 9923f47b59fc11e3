"""The networks hosted on one open mesh: each with its key, its memory and its node, as its resource wants it.

    Wanted -> keys (Secret) -> memory (ConfigMap) -> node on the shared socket -> how it stands (a condition)

What failed is tried again with the next pass; what runs goes on meanwhile.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from grid.crd.base import SecretRef
from grid.crd.durations import seconds
from grid.crd.network import GridNetwork
from grid.kube.port import SECRET, Kube, KubeFault
from grid.mesh.addresses import split
from grid.mesh.udp import MAX_NETWORKS, Mesh
from grid.reconcile.gossip import Listener, Teller
from grid.reconcile.remembered import Remembered, memory_name
from grid.reconcile.swim_keys import NoKey, keys_of, ring_of
from grid.reconcile.world import MeshStanding
from grid.seal.aead import Keyring
from grid.swim.codec import Unspeakable
from grid.swim.node import Memory, SwimNode
from grid.swim.tuning import DEFAULT, Tuning, tuned

log = logging.getLogger(__name__)
LOOK_S: Final = 10.0
"""Between two looks at a Secret: the operator may read one by name, and watch none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One network's membership as its resource wants it."""

    uid: str
    grid_id: str
    seeds: tuple[str, ...]
    tuning: Tuning
    key: SecretRef | None


@dataclass(slots=True)
class Line:
    """One network that is hosted: what was said and heard in it, and what it was hosted with."""

    wanted: Wanted
    keys: tuple[bytes, ...]
    node: SwimNode
    memory: Remembered
    calls_somebody: bool
    listener: Listener
    teller: Teller
    keys_at: float

    @property
    def has_met(self) -> bool:
        """Whether another's state was taken in, or was found to be ours."""
        view = self.node.view
        return view.agreed_at is not None or view.counts["merged"] > 0


def wanted_of(network: GridNetwork) -> Wanted:
    swim, spec = network.spec.swim, network.spec
    tuning = tuned(
        seconds(swim.probe_interval, DEFAULT.probe_interval_s),
        seconds(swim.suspicion_timeout, DEFAULT.suspicion_s),
        swim.gossip_nodes,
    )
    return Wanted(network.metadata.uid, network.grid_id, spec.seeds, tuning, spec.tls.swim_key_ref)


def running(wanted: Wanted) -> MeshStanding:
    """As it should be; seeds that are none are said by name, and the others called."""
    none = [seed for seed in wanted.seeds if split(seed) is None]
    if not none:
        return MeshStanding(running=True, reason="Running")
    message = f"no host:port: {', '.join(none)[:200]}"
    return MeshStanding(running=True, reason="SeedsUnusable", message=message)


@dataclass(frozen=True, slots=True)
class Site:
    """Who hosts. name, namespace: of this site's operator. address: where it wants to be answered.

    now: Unix seconds. chance: what each node's own is drawn from. nonce: 12 bytes, never the same twice.
    wake: called when a standing is another.
    """

    name: str
    namespace: str
    address: str
    now: Callable[[], float]
    chance: random.Random
    nonce: Callable[[], bytes]
    wake: Callable[[], None]


@dataclass(slots=True)
class Hosting:
    """lines: by network, those that are hosted. standings: by network, as far as they are known."""

    kube: Kube
    mesh: Mesh
    site: Site
    lines: dict[str, Line] = field(default_factory=dict)
    standings: dict[str, MeshStanding] = field(default_factory=dict)

    async def attend(self, wanted: Mapping[str, Wanted], unread: frozenset[str]) -> None:
        """One pass. unread: networks that exist and cannot be read: they stay as they are."""
        self._let_go(wanted, unread)
        for place, name in enumerate(sorted(wanted)):
            await self._attend(name, wanted[name], place)

    def _let_go(self, all_wanted: Mapping[str, Wanted], unread: frozenset[str]) -> None:
        """Of a network that is gone we take leave; one without a key, or in another grid, is only dropped."""
        for name, line in list(self.lines.items()):
            wanted = all_wanted.get(name)
            if wanted is None and name in unread:
                continue
            if wanted is None:
                self.mesh.leave(name)
                log.info("left", extra={"network": name})
            elif wanted.key is not None and wanted.grid_id == line.wanted.grid_id:
                continue
            else:
                self.mesh.drop(name)
            del self.lines[name]
        for name in self.standings.keys() - all_wanted.keys():
            del self.standings[name]

    async def _attend(self, name: str, wanted: Wanted, place: int) -> None:
        try:
            standing = await self._standing(name, wanted, place)
        except KubeFault as fault:
            log.info("mesh waits for the API", extra={"network": name, "reason": fault.reason})
            return
        if standing is None:
            self.standings.pop(name, None)
        elif self.standings.get(name) != standing:
            self.standings[name] = standing
            facts = {"network": name, "reason": standing.reason}
            log.log(logging.INFO if standing.running else logging.WARNING, "mesh", extra=facts)
            self.site.wake()

    async def _standing(self, name: str, wanted: Wanted, place: int) -> MeshStanding | None:
        """How the network's mesh stands, after what could be done for it."""
        if wanted.key is None:
            missing = "seeds, and no tls.swimKeyRef: membership is never spoken in the clear"
            return (
                MeshStanding(running=False, reason="SwimKeyMissing", message=missing)
                if wanted.seeds
                else None
            )
        if place >= MAX_NETWORKS:
            return MeshStanding(
                running=False, reason="TooManyNetworks", message=f"{MAX_NETWORKS} share one socket at most"
            )
        line = self.lines.get(name)
        if line is not None:
            await line.memory.keep(line.node.memory(), self.site.now())
        if line is not None and line.wanted == wanted and self.site.now() - line.keys_at < LOOK_S:
            return self.standings.get(name) or running(wanted)
        keys = await self._keys(wanted.key)
        if isinstance(keys, NoKey):
            return self._keyless(line, keys)
        ring = ring_of(keys, wanted.grid_id, wanted.key, self.site.nonce)
        if isinstance(ring, NoKey):
            return self._keyless(line, ring)
        if line is None:
            return await self._host(name, wanted, keys, ring)
        self._adjust(name, line, wanted, keys, ring)
        return running(wanted)

    def _keyless(self, line: Line | None, problem: NoKey) -> MeshStanding:
        """A key that was good once goes on sealing; a run that never had one does not begin."""
        if line is None:
            return MeshStanding(running=False, reason=problem.reason, message=problem.message)
        line.keys_at = self.site.now()
        message = f"{problem.message}; still sealed with the key before it"
        return MeshStanding(running=True, reason=problem.reason, message=message)

    async def _keys(self, ref: SecretRef) -> tuple[bytes, ...] | NoKey:
        try:
            return keys_of(await self.kube.get(SECRET, ref.name, ref.namespace), ref)
        except KubeFault as fault:
            if not fault.status or fault.status >= 500:
                raise
            return NoKey("SwimKeyUnreadable", f"Secret {ref.namespace}/{ref.name}: {fault.reason}")

    async def _host(self, name: str, wanted: Wanted, keys: tuple[bytes, ...], ring: Keyring) -> MeshStanding:
        for other, line in self.lines.items():
            if line.wanted.grid_id == wanted.grid_id and set(line.keys) & set(keys):
                said = f"{other} has this gridId and key already"
                return MeshStanding(running=False, reason="GridIdTaken", message=said)
        store = Remembered(self.kube, self.site.namespace, memory_name(name), (name, wanted.uid))
        memory = await store.load()
        try:
            node = self._node(wanted, memory)
        except Unspeakable as fault:
            return MeshStanding(running=False, reason="AddressUnusable", message=str(fault))
        calls = any(seed != node.view.me.address for seed in (*wanted.seeds, *memory.peers))
        listener, teller = Listener(name), Teller(self.site.name)
        self.lines[name] = Line(wanted, keys, node, store, calls, listener, teller, self.site.now())
        self.mesh.host(name, node, ring, wanted.seeds)
        await store.keep(node.memory(), self.site.now())
        return running(wanted)

    def _node(self, wanted: Wanted, memory: Memory) -> SwimNode:
        chance = random.Random(self.site.chance.getrandbits(128))  # noqa: S311 (whom to ask, not what to seal with)
        instance = self.site.chance.getrandbits(32)
        return SwimNode(self.site.name, self.site.address, instance, chance, wanted.tuning, memory)

    def _adjust(self, name: str, line: Line, wanted: Wanted, keys: tuple[bytes, ...], ring: Keyring) -> None:
        line.keys_at = self.site.now()
        if keys != line.keys:
            self.mesh.rekey(name, ring)
            log.info("rekeyed", extra={"network": name, "count": len(keys)})
        if wanted.tuning != line.wanted.tuning:
            line.node.retune(wanted.tuning)
        if wanted.seeds != line.wanted.seeds:
            self.mesh.reseed(name, wanted.seeds)
        line.wanted, line.keys = wanted, keys
