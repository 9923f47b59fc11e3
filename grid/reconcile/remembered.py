"""What our node should know in its next run, kept in a ConfigMap: peers and how far its counts have come.

Written with compare-and-swap: of two replicas that each take themselves for the leader none undoes the
other's counting, since who is refused reads, takes the higher of both, and writes again.

Counts are written ahead: a run that ends without a word has never used one that its next run could use again,
and a quiet grid writes nothing for hours.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final

from grid.contract.names import LABEL_NETWORK, MAX_NAME, label_value
from grid.kube.port import CONFIG_MAP, GRID_NETWORK, Document, Kube, KubeFault
from grid.mesh.memory import KEY, read_memory, write_memory
from grid.swim.codec import MAX_COUNT
from grid.swim.node import NOTHING, Memory

AHEAD: Final = 1000
"""Revisions written ahead: nearly three hours at one in ten seconds."""
EVERY_S: Final = 10.0


@dataclass(slots=True)
class Remembered:
    """The ConfigMap `name` of one network, owned by it. owner: the network's name and uid."""

    kube: Kube
    namespace: str
    name: str
    owner: tuple[str, str]
    _version: str = ""
    _saved: Memory = NOTHING
    _saved_at: float = 0.0
    _read: bool = field(default=False)

    async def load(self) -> Memory:
        """What was kept; nothing where there is nothing, or it is none of ours. Raises KubeFault."""
        try:
            found = await self.kube.get(CONFIG_MAP, self.name, self.namespace)
        except KubeFault as fault:
            if not fault.is_missing:
                raise
            self._version, self._saved = "", NOTHING
        else:
            self._version = str(found["metadata"].get("resourceVersion", ""))
            self._saved = read_memory(str((found.get("data") or {}).get(KEY, "")))
        return self._saved

    async def keep(self, memory: Memory, now: float) -> None:
        """Writes what is new, at most every ten seconds. Raises KubeFault; nothing is lost then but time."""
        if self._holds(memory) or (self._saved_at and now - self._saved_at < EVERY_S):
            return
        wanted = ahead(memory)
        try:
            await self._write(wanted)
        except KubeFault as fault:
            if not fault.is_conflict:
                raise
            await self._write(higher(wanted, await self.load()))
        self._saved_at = now

    def _holds(self, memory: Memory) -> bool:
        counts = all(
            count + AHEAD // 2 <= self._saved.revisions.get(lane, 0)
            for lane, count in memory.revisions.items()
        )
        same = set(memory.peers) == set(self._saved.peers)
        return counts and same and memory.incarnation <= self._saved.incarnation

    async def _write(self, memory: Memory) -> None:
        document = self._document(memory)
        if self._version:
            document["metadata"]["resourceVersion"] = self._version
            made = await self.kube.replace(CONFIG_MAP, document)
        else:
            made = await self.kube.create(CONFIG_MAP, document)
        self._version, self._saved = str(made["metadata"]["resourceVersion"]), memory

    def _document(self, memory: Memory) -> Document:
        name, uid = self.owner
        owner = {"apiVersion": GRID_NETWORK.api_version, "kind": GRID_NETWORK.name, "name": name, "uid": uid}
        metadata = {
            "name": self.name,
            "namespace": self.namespace,
            "labels": {LABEL_NETWORK: label_value(name)},
            "ownerReferences": [owner],
        }
        return {"metadata": metadata, "data": {KEY: write_memory(memory)}}


def memory_name(network: str) -> str:
    """Of the ConfigMap; at most 63 characters, as `overlay_configmap` shortens them."""
    whole = f"grid-mesh-{network}"
    if len(whole) <= MAX_NAME:
        return whole
    return f"grid-mesh-{network[:40].rstrip('-.')}-{hashlib.sha256(network.encode()).hexdigest()[:8]}"


def ahead(memory: Memory) -> Memory:
    """With counts that this run has yet to use."""
    revisions = {lane: min(count + AHEAD, MAX_COUNT) for lane, count in memory.revisions.items()}
    return Memory(memory.incarnation, revisions, memory.peers)


def higher(mine: Memory, theirs: Memory) -> Memory:
    """The higher of each count; the peers of the first."""
    lanes = {**theirs.revisions, **mine.revisions}
    revisions = {lane: max(mine.revisions.get(lane, 0), theirs.revisions.get(lane, 0)) for lane in lanes}
    return Memory(max(mine.incarnation, theirs.incarnation), revisions, mine.peers)
