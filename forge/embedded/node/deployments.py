"""Deployments: the shell round `rollout.py`, which makes and sizes ReplicaSets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge.embedded.api import selectors
from forge.embedded.api.values import Event, Json, dig
from forge.embedded.node import pods, rollout
from forge.embedded.node.controlling import Controlling
from forge.embedded.node.objects import (
    DEPLOYMENTS,
    REPLICA_SETS,
    is_leaving,
    name_of,
    namespace_of,
    owner_of,
    owner_reference,
    uid_of,
)


@dataclass(slots=True)
class Deployments(Controlling):
    """The controller."""

    name: str = "deployment-controller"

    def wants(self, event: Event) -> bool:
        return event.record.key.resource in (DEPLOYMENTS, REPLICA_SETS)

    def step(self) -> float | None:
        waits = [self._reconcile(d) for d in self.objects.all(DEPLOYMENTS) if not is_leaving(d)]
        due = [wait for wait in waits if wait is not None]
        return min(due) if due else None

    def _reconcile(self, deployment: Json) -> float | None:
        """Seconds until it is to be looked at again by itself; None for never."""
        sets = self._own(deployment)
        new = rollout.current(deployment, sets)
        paused = bool(deployment["spec"].get("paused"))
        if new is None and not paused:
            new = self._make(deployment, sets)
            if new is None:
                return 0.1
            sets.append(new)
        elif new is not None and not paused:
            new = self._mark(deployment, new, sets)
        old = [s for s in sets if new is None or uid_of(s) != uid_of(new)]
        self._resize(deployment, new, old)
        for useless in rollout.superfluous(deployment, old):
            self.objects.delete(REPLICA_SETS, useless)
        sets = self._own(deployment)
        new = rollout.current(deployment, sets)
        status = rollout.status(deployment, new, sets, self.cluster.clock())
        # With the status, as the real one does: written by itself it would count as a generation.
        number = {rollout.REVISION: str(rollout.revision(new))} if new is not None else {}
        self.objects.put_status(DEPLOYMENTS, deployment, status, number)
        return rollout.late_in_s(deployment | {"status": status}, self.cluster.clock())

    def _own(self, deployment: Json) -> list[Json]:
        """Its sets; those without a controller that its selector chooses become its own."""
        uid, found = uid_of(deployment), []
        selector = selectors.label_selector(deployment["spec"].get("selector"))
        for one in self.objects.all(REPLICA_SETS, namespace_of(deployment)):
            owner = owner_of(one)
            if (
                owner is None
                and selector.matches(one["metadata"].get("labels") or {})
                and not is_leaving(one)
            ):
                kept = one["metadata"].get("ownerReferences") or []
                patch = {"metadata": {"ownerReferences": [*kept, owner_reference(deployment)]}}
                found.append(self.objects.patch(REPLICA_SETS, one, patch))
            elif owner is not None and owner.get("uid") == uid:
                found.append(one)
        return found

    def _make(self, deployment: Json, sets: Sequence[Json]) -> Json | None:
        """The set of the present template; None when its name is taken, which the next step avoids."""
        collisions = int(dig(deployment, "status", "collisionCount") or 0)
        mark = rollout.template_hash(deployment["spec"]["template"], collisions)
        name = f"{name_of(deployment)}-{mark}"
        if self.objects.get(REPLICA_SETS, name, namespace_of(deployment)) is not None:
            status = {**(deployment.get("status") or {}), "collisionCount": collisions + 1}
            self.objects.put_status(DEPLOYMENTS, deployment, status)
            return None
        document = _replica_set(deployment, name, mark, sets)
        made = self.objects.create(REPLICA_SETS, document, namespace_of(deployment))
        if made["spec"]["replicas"]:
            said = f"Scaled up replica set {name} from 0 to {made['spec']['replicas']}"
            self.recorder.note(deployment, "ScalingReplicaSet", said)
        return made

    def _mark(self, deployment: Json, new: Json, sets: Sequence[Json]) -> Json:
        """Makes the set's annotations those of the newest revision."""
        held = new["metadata"].get("annotations") or {}
        newest = max((rollout.revision(s) for s in sets if uid_of(s) != uid_of(new)), default=0)
        wanted = dict(rollout.copied_annotations(deployment)) | _limits(deployment)
        if rollout.revision(new) <= newest:
            wanted[rollout.REVISION] = str(newest + 1)
            if rollout.revision(new):
                before = [h for h in held.get(rollout.HISTORY, "").split(",") if h]
                wanted[rollout.HISTORY] = ",".join([*before, str(rollout.revision(new))])
        if all(held.get(k) == v for k, v in wanted.items()):
            return new
        minimum = deployment["spec"].get("minReadySeconds")
        patch: Json = {"metadata": {"annotations": wanted}}
        if new["spec"].get("minReadySeconds") != minimum:
            patch["spec"] = {"minReadySeconds": minimum}
        return self.objects.patch(REPLICA_SETS, new, patch)

    def _resize(self, deployment: Json, new: Json | None, old: Sequence[Json]) -> None:
        wanted = rollout.sizes(deployment, new, old)
        for one in [*([new] if new is not None else []), *old]:
            size = wanted.get(uid_of(one))
            before = int(one["spec"].get("replicas") or 0)
            if size is None or size == before:
                continue
            patch = {"spec": {"replicas": size}, "metadata": {"annotations": _limits(deployment)}}
            self.objects.patch(REPLICA_SETS, one, patch)
            way = "up" if size > before else "down"
            said = f"Scaled {way} replica set {name_of(one)} from {before} to {size}"
            self.recorder.note(deployment, "ScalingReplicaSet", said)


def _limits(deployment: Json) -> Json:
    limit = rollout.bounds(deployment)
    return {rollout.DESIRED: str(limit.replicas), rollout.MOST: str(limit.replicas + limit.surge)}


def _replica_set(deployment: Json, name: str, mark: str, sets: Sequence[Json]) -> Json:
    """A new set, at the size that the bounds allow at once."""
    limit = rollout.bounds(deployment)
    spec = pods.deep(deployment["spec"])
    template = spec["template"]
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**(meta.get("labels") or {}), rollout.HASH: mark}
    selector = spec["selector"]
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), rollout.HASH: mark}
    total = sum(int(s["spec"].get("replicas") or 0) for s in sets)
    recreate = dig(deployment, "spec", "strategy", "type") == "Recreate"
    size = 0 if recreate and total else min(limit.replicas, max(0, limit.replicas + limit.surge - total))
    newest = max((rollout.revision(s) for s in sets), default=0)
    annotations = {**rollout.copied_annotations(deployment), **_limits(deployment)}
    annotations[rollout.REVISION] = str(newest + 1)
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": name,
            "namespace": namespace_of(deployment),
            "labels": dict(meta["labels"]),
            "annotations": annotations,
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": size,
            "selector": selector,
            "template": template,
            **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
        },
    }
