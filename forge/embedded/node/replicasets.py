"""ReplicaSets: as many pods as were asked for, no more, no less.

Level-based: each step looks at every set and its pods. Reads and writes of a step happen without a
pause, so no set ever acts on pods that it has made or deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from forge.embedded.api import selectors
from forge.embedded.api.status import ApiError
from forge.embedded.api.values import Event, Json, dig
from forge.embedded.node import pods
from forge.embedded.node.controlling import Controlling
from forge.embedded.node.objects import (
    PODS,
    REPLICA_SETS,
    is_leaving,
    name_of,
    namespace_of,
    owner_of,
    owner_reference,
    uid_of,
)

_BURST = 500
"""Pods that one set makes or deletes in one step, as the real controller bounds it."""


def wanted(replica_set: Json) -> int:
    return int(replica_set["spec"].get("replicas") or 0)


def own(replica_set: Json, found: Sequence[Json]) -> list[Json]:
    """The set's living pods: not finished, not on their way out."""
    uid = uid_of(replica_set)
    mine = [pod for pod in found if (owner_of(pod) or {}).get("uid") == uid]
    return [pod for pod in mine if not is_leaving(pod) and not pods.is_finished(pod)]


def orphans(replica_set: Json, found: Sequence[Json]) -> list[Json]:
    """Pods without a controller that the set's selector chooses: it adopts them."""
    selector = selectors.label_selector(replica_set["spec"].get("selector"))
    return [
        pod
        for pod in found
        if owner_of(pod) is None
        and not is_leaving(pod)
        and not pods.is_finished(pod)
        and selector.matches(pod["metadata"].get("labels") or {})
    ]


def surplus(mine: Sequence[Json], count: int) -> list[Json]:
    """Which *count* pods go first: what is not scheduled, not running, not ready, restarted, young."""
    return sorted(mine, key=_cost)[:count]


def _cost(pod: Json) -> tuple[bool, int, bool, int, int, tuple[int, ...]]:
    cost = (pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
    rank = {"Pending": 0, "Unknown": 1, "Running": 2}.get(dig(pod, "status", "phase"), 0)
    restarts = sum(int(c.get("restartCount", 0)) for c in dig(pod, "status", "containerStatuses") or [])
    # The youngest first: later instants sort before earlier ones.
    young = tuple(-ord(letter) for letter in str(pod["metadata"].get("creationTimestamp", "")))
    number = int(cost) if cost.lstrip("-").isdigit() else 0
    return bool(pod["spec"].get("nodeName")), rank, pods.is_ready(pod), number, -restarts, young


def new_pod(replica_set: Json) -> Json:
    """The pod of the set's template."""
    template = replica_set["spec"]["template"]
    meta = template.get("metadata") or {}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": f"{name_of(replica_set)}-",
            "namespace": namespace_of(replica_set),
            "labels": dict(meta.get("labels") or {}),
            "annotations": dict(meta.get("annotations") or {}),
            "finalizers": list(meta.get("finalizers") or []),
            "ownerReferences": [owner_reference(replica_set)],
        },
        "spec": template["spec"],
    }


def status(replica_set: Json, mine: Sequence[Json], now: datetime) -> Json:
    """Its status with these pods."""
    template = dig(replica_set, "spec", "template", "metadata", "labels") or {}
    minimum_s = int(replica_set["spec"].get("minReadySeconds") or 0)
    counts = {
        "replicas": len(mine),
        "fullyLabeledReplicas": sum(
            all((pod["metadata"].get("labels") or {}).get(k) == v for k, v in template.items())
            for pod in mine
        ),
        "readyReplicas": sum(pods.is_ready(pod) for pod in mine),
        "availableReplicas": sum(pods.available_in_s(pod, minimum_s, now) == 0 for pod in mine),
    }
    whole: Json = {k: v for k, v in counts.items() if v or k == "replicas"}
    whole["observedGeneration"] = replica_set["metadata"].get("generation", 1)
    kept = (replica_set.get("status") or {}).get("conditions")
    return whole | ({"conditions": kept} if kept else {})


@dataclass(slots=True)
class ReplicaSets(Controlling):
    """The controller."""

    name: str = "replicaset-controller"

    def wants(self, event: Event) -> bool:
        return event.record.key.resource in (PODS, REPLICA_SETS)

    def step(self) -> float | None:
        by_namespace: dict[str, list[Json]] = {}
        for pod in self.objects.all(PODS):
            by_namespace.setdefault(namespace_of(pod), []).append(pod)
        waits = [
            self._reconcile(replica_set, by_namespace.get(namespace_of(replica_set), []))
            for replica_set in self.objects.all(REPLICA_SETS)
        ]
        due = [wait for wait in waits if wait]
        return min(due) if due else None

    def _reconcile(self, replica_set: Json, found: list[Json]) -> float | None:
        """Seconds until a pod of it may have become available by time alone; None for never."""
        mine = own(replica_set, found)
        if not is_leaving(replica_set):
            mine += self._adopt(replica_set, found)
            mine = self._scale(replica_set, mine)
        now = self.cluster.clock()
        self.objects.put_status(REPLICA_SETS, replica_set, status(replica_set, mine, now))
        minimum_s = int(replica_set["spec"].get("minReadySeconds") or 0)
        waits = [pods.available_in_s(pod, minimum_s, now) for pod in mine]
        due = [wait for wait in waits if wait]
        return min(due) if due else None

    def _adopt(self, replica_set: Json, found: list[Json]) -> list[Json]:
        reference = owner_reference(replica_set)
        return [
            self.objects.patch(
                PODS,
                pod,
                {
                    "metadata": {
                        "ownerReferences": [*(pod["metadata"].get("ownerReferences") or []), reference]
                    }
                },
            )
            for pod in orphans(replica_set, found)
        ]

    def _scale(self, replica_set: Json, mine: list[Json]) -> list[Json]:
        missing = wanted(replica_set) - len(mine)
        if missing > 0:
            return mine + self._make(replica_set, min(missing, _BURST))
        going = surplus(mine, min(-missing, _BURST))
        for pod in going:
            self.objects.delete(PODS, pod)
            self.recorder.note(replica_set, "SuccessfulDelete", f"Deleted pod: {name_of(pod)}")
        gone = {uid_of(pod) for pod in going}
        return [pod for pod in mine if uid_of(pod) not in gone]

    def _make(self, replica_set: Json, count: int) -> list[Json]:
        made = []
        for _ in range(count):
            try:
                pod = self.objects.create(PODS, pods.deep(new_pod(replica_set)), namespace_of(replica_set))
            except ApiError as error:
                self.recorder.warn(replica_set, "FailedCreate", f"Error creating: {error.message}")
                break
            made.append(pod)
            self.recorder.note(replica_set, "SuccessfulCreate", f"Created pod: {name_of(pod)}")
        return made
