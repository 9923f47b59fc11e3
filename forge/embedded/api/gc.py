"""Garbage collection: dependents follow their owners, in the way the deletion asked for.

    background   the owner goes at once; dependents whose owners are all gone go after it
    foreground   the owner waits, marked, until the dependents that block it are gone
    orphan       dependents lose their reference, then the owner goes

Owner references name uids, so an owner that was made anew does not hold what belonged to the old one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from forge.embedded.api import deletes
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.deletes import FOREGROUND, ORPHAN, DeleteOptions
from forge.embedded.api.local import LocalClient
from forge.embedded.api.resources import Resource
from forge.embedded.api.status import ApiError
from forge.embedded.api.values import Event, Json, Key, Record, dig

# Events come in bursts (a namespace, a roll-out); one look afterwards does for all of them.
_SETTLE_S = 0.3
# An owner that is not (yet) there may be about to be made: its absence must last this long.
_ABSENCE_S = 2.0


@dataclass(slots=True)
class Collector:
    """Looks at every object that has owners or waits for dependents."""

    cluster: Cluster
    name: str = "garbage-collector"
    settle_s: float = _SETTLE_S
    _missing: dict[tuple[Key, str], float] = field(default_factory=dict)

    def wants(self, event: Event) -> bool:
        if event.type == "DELETED":
            return True
        meta = event.record.object["metadata"]
        return bool(meta.get("ownerReferences")) or bool(
            meta.get("deletionTimestamp") and meta.get("finalizers")
        )

    def step(self) -> float | None:
        world = _World(self.cluster)
        for record in world.waiting:
            self._finish(world, record)
        soonest = [self._collect(world, record) for record in world.owned]
        self._missing = {k: at for k, at in self._missing.items() if self.cluster.store.get(k[0]) is not None}
        waits = [wait for wait in soonest if wait is not None]
        return min(waits) if waits else None

    def _finish(self, world: _World, record: Record) -> None:
        """Lets an owner go whose dependents are gone, or no longer its own."""
        finalizers = record.object["metadata"].get("finalizers") or []
        dependents = world.dependents(record)
        if ORPHAN in finalizers:
            for dependent in dependents:
                self._orphan(world, dependent, record)
            self._release(world, record, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = [d for d in dependents if _blocks(d.object, _uid(record.object))]
            for dependent in dependents:
                self._delete(world, dependent, "Foreground")
            if not blocking:
                self._release(world, record, FOREGROUND)

    def _collect(self, world: _World, record: Record) -> float | None:
        """Deletes a dependent without any owner left; seconds to wait before that is sure."""
        if dig(record.object, "metadata", "deletionTimestamp"):
            return None
        references = record.object["metadata"].get("ownerReferences") or []
        states = [world.state(record, reference) for reference in references]
        if any(state in ("present", "unknown") for state in states):
            self._drop_gone(world, record, references, states)
            return None
        if "waiting" in states:
            self._delete(world, record, "Foreground")
            return None
        wait = self._absence(record)
        if wait > 0:
            return wait
        self._delete(world, record, "Background")
        return None

    def _absence(self, record: Record) -> float:
        """Seconds until the absence of all owners counts; none when one was seen to be deleted."""
        now = self.cluster.clock().timestamp()
        uid = _uid(record.object)
        since = self._missing.setdefault((record.key, uid), now)
        return 0.0 if self.cluster.was_deleted(record.object) else since + _ABSENCE_S - now

    def _drop_gone(self, world: _World, record: Record, references: list[Json], states: list[str]) -> None:
        """A dependent with owners left loses the references to those that are gone."""
        if "absent" not in states or "present" not in states:
            return
        kept = [r for r, state in zip(references, states, strict=True) if state != "absent"]
        self._patch(world, record, {"ownerReferences": kept})

    def _orphan(self, world: _World, dependent: Record, owner: Record) -> None:
        uid = _uid(owner.object)
        kept = [r for r in dependent.object["metadata"]["ownerReferences"] if r.get("uid") != uid]
        self._patch(world, dependent, {"ownerReferences": kept or None})

    def _release(self, world: _World, record: Record, finalizer: str) -> None:
        current = self.cluster.store.get(record.key)
        if current is not None:
            left = [f for f in current.object["metadata"].get("finalizers") or [] if f != finalizer]
            self._patch(world, current, {"finalizers": left or None})

    def _patch(self, world: _World, record: Record, metadata: Json) -> None:
        resource = world.resource(record.key)
        if resource is not None and self.cluster.store.get(record.key) is not None:
            client = LocalClient(self.cluster, "kube-controller-manager")
            client.patch(resource, record.key.name, {"metadata": metadata}, record.key.namespace)

    def _delete(self, world: _World, record: Record, policy: str) -> None:
        resource = world.resource(record.key)
        current = self.cluster.store.get(record.key)
        if resource is None or current is None or dig(current.object, "metadata", "deletionTimestamp"):
            return
        try:
            uid = _uid(record.object)
            deletes.delete(self.cluster, resource, record.key, DeleteOptions(uid=uid, policy=policy))
        except ApiError:
            # Changed in between: the event of that change brings the collector back.
            return


class _World:
    """All objects by uid, and who depends on whom, at one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._by_uid: dict[str, Record] = {}
        self._dependents: dict[str, list[Record]] = {}
        self.owned: list[Record] = []
        self.waiting: list[Record] = []
        for storage in cluster.store.resources():
            for record in cluster.store.records(storage):
                self._add(record)

    def _add(self, record: Record) -> None:
        meta = record.object["metadata"]
        self._by_uid[meta.get("uid", "")] = record
        for reference in meta.get("ownerReferences") or []:
            self._dependents.setdefault(reference.get("uid", ""), []).append(record)
        if meta.get("ownerReferences"):
            self.owned.append(record)
        if meta.get("deletionTimestamp") and {FOREGROUND, ORPHAN} & set(meta.get("finalizers") or []):
            self.waiting.append(record)

    def dependents(self, owner: Record) -> list[Record]:
        return self._dependents.get(_uid(owner.object), [])

    def resource(self, key: Key) -> Resource | None:
        return self._cluster.registry.stored(key.resource)

    def state(self, record: Record, reference: Json) -> str:
        """present, waiting (for its dependents), absent, or unknown where the kind is not served."""
        owner = self._by_uid.get(reference.get("uid", ""))
        if owner is not None and owner.key.namespace in ("", record.key.namespace):
            meta = owner.object["metadata"]
            waits = meta.get("deletionTimestamp") and FOREGROUND in (meta.get("finalizers") or [])
            return "waiting" if waits else "present"
        kind = self._cluster.registry.by_kind(reference.get("apiVersion", ""), reference.get("kind", ""))
        return "absent" if kind is not None else "unknown"


def _uid(document: Json) -> str:
    return str(document["metadata"].get("uid", ""))


def _blocks(document: Json, owner: str) -> bool:
    references: list[Any] = document["metadata"].get("ownerReferences") or []
    return any(r.get("uid") == owner and r.get("blockOwnerDeletion") for r in references)
