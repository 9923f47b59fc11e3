"""Nodes that stopped saying that they live: their Ready is Unknown, and nothing is put there any more.

A kubelet renews its Lease in kube-node-lease; a Lease that was not renewed for as long as it says it
lasts is a node nobody can vouch for. A Node without a Lease was never promised to live (somebody made
the object by hand): what it says stays. A node that speaks again writes its status itself; taints follow
what it says. Times are this process's, from when it saw a renewal: clocks of
nodes are not compared, and a restart gives everybody a full term.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from forge.embedded.api.values import Event, Json
from forge.embedded.node.controlling import Controlling
from forge.embedded.node.objects import LEASES, NODES, name_of
from forge.embedded.node.pods import condition

SPACE = "kube-node-lease"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_TAINTS = {"False": NOT_READY, "Unknown": UNREACHABLE}
_TERM_S = 40
"""Of a Lease that does not say: a kubelet's own."""
_REASON = "NodeStatusUnknown"
_MESSAGE = "Kubelet stopped posting node status."


@dataclass(slots=True)
class Lifecycle(Controlling):
    """The controller. monotonic: seconds that only grow."""

    name: str = "node-lifecycle-controller"
    monotonic: Callable[[], float] = time.monotonic
    _renewed: dict[str, tuple[object, float]] = field(default_factory=dict)

    def wants(self, event: Event) -> bool:
        key = event.record.key
        return key.resource == NODES or (key.resource == LEASES and key.namespace == SPACE)

    def step(self) -> float | None:
        leases = self.objects.all(LEASES, SPACE)
        self._renewed = {k: v for k, v in self._renewed.items() if k in {name_of(one) for one in leases}}
        waits = [self._look(lease) for lease in leases]
        for node in self.objects.all(NODES):
            self._taint(node)
        return min((wait for wait in waits if wait is not None), default=None)

    def _look(self, lease: Json) -> float | None:
        """Seconds until the Lease runs out; None where there is nothing to wait for."""
        node = self.objects.get(NODES, name_of(lease))
        if node is None:
            return None
        left_s = self._left_s(lease)
        if left_s > 0:
            return left_s
        if any(c.get("status") != "Unknown" for c in (node.get("status") or {}).get("conditions") or ()):
            self.objects.put_status(NODES, node, unknown(node["status"], self.cluster.now()))
            self.recorder.note(node, "NodeNotReady", f"Node {name_of(node)} status is now: NodeNotReady")
        return None

    def _left_s(self, lease: Json) -> float:
        spec = lease.get("spec") or {}
        mark, now = spec.get("renewTime"), self.monotonic()
        before = self._renewed.get(name_of(lease))
        if before is None or before[0] != mark:
            before = self._renewed[name_of(lease)] = (mark, now)
        return before[1] + float(spec.get("leaseDurationSeconds") or _TERM_S) - now

    def _taint(self, node: Json) -> None:
        """Gives the node the taint of its condition, and takes another one's off."""
        ready = condition(node, "Ready").get("status")
        held = node["spec"].get("taints") or []
        wanted = _TAINTS.get(ready, "") if ready else NOT_READY
        kept = [t for t in held if t.get("key") not in _TAINTS.values() or t.get("key") == wanted]
        if wanted and all(t.get("key") != wanted for t in kept):
            kept.append({"key": wanted, "effect": "NoSchedule", "timeAdded": self.cluster.now()})
        if kept != held:
            self.objects.patch(NODES, node, {"spec": {"taints": kept}})


def unknown(status: Json, now: str) -> Json:
    """The status of a node that nobody can vouch for."""
    changed = {"status": "Unknown", "reason": _REASON, "message": _MESSAGE, "lastTransitionTime": now}
    conditions = [c if c.get("status") == "Unknown" else {**c, **changed} for c in status["conditions"]]
    return {**status, "conditions": conditions}
