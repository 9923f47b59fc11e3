"""Carries actions out, and decides nothing: each is tried once, and one that fails waits its turn.

What failed will be decided again as long as it is true; its object is left alone meanwhile, so that one that
cannot be written does not keep the API busy.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from grid.contract.instants import write_instant
from grid.contract.names import (
    ANNOTATION_DIGEST,
    ANNOTATION_REVISION,
    LABEL_GATEWAY,
    LABEL_MANAGED_BY,
    LABEL_NETWORK,
    OVERLAY_KEY,
    label_value,
)
from grid.kube.backoff import Backoff
from grid.kube.port import (
    CONFIG_MAP,
    EVENT,
    FIELD_MANAGER,
    GRID_NETWORK,
    GRID_SITE,
    INFERENCE_PROVIDER,
    Document,
    Kube,
    KubeFault,
)
from grid.reconcile.actions import Action, Emit, RemoveOverlay, WriteOverlay, WriteSite, WriteStatus
from grid.reconcile.observe import Observer

log = logging.getLogger(__name__)
# Events about cluster-scoped objects live there (Kubernetes, events.k8s.io validation).
EVENT_NAMESPACE = "default"
# How long a round of writes may keep the next decision waiting.
ROUND_S = 1.0
# Objects written at once. Each has a connection, which keeps buffers for the largest overlay it carried.
_HANDS = 3
_KINDS = {kind.name: kind for kind in (GRID_NETWORK, GRID_SITE, INFERENCE_PROVIDER)}


@dataclass(slots=True)
class Actor:
    """now: Unix seconds. random: 0..1. acted: called with each verb and outcome, for counting.

    round_s: when no more objects are begun. unwritten: overlays that were refused, by (namespace, name).
    """

    kube: Kube
    observer: Observer
    instance: str
    now: Callable[[], float]
    random: Callable[[], float]
    acted: Callable[[str, str], None] = lambda verb, outcome: None  # noqa: ARG005 (nobody counts)
    round_s: float = ROUND_S
    unwritten: dict[tuple[str, str], str] = field(default_factory=dict)
    _waits: dict[str, tuple[Backoff, float]] = field(default_factory=dict)

    async def act(self, actions: Iterable[Action]) -> bool:
        """Carries them out, some objects at a time; of one object in their order, and nothing more after what
        failed: an event is sent only if its object's status was written.

        Whether there was time for all: what was not begun within a second is left to be decided anew, so that
        no thousand statuses stand before the next overlay.
        """
        by_target: dict[str, list[Action]] = {}
        for action in actions:
            by_target.setdefault(_target(action), []).append(action)
        until = asyncio.get_running_loop().time() + self.round_s
        waiting = iter(by_target.items())
        async with asyncio.TaskGroup() as group:
            hands = [
                group.create_task(self._hand(waiting, until)) for _ in range(min(_HANDS, len(by_target)))
            ]
        return all(hand.result() for hand in hands)

    async def _hand(self, waiting: Iterator[tuple[str, list[Action]]], until: float) -> bool:
        """Takes one object after the other; whether time sufficed."""
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            target, actions = next(waiting, ("", []))
            if not actions:
                return True
            for action in actions:
                if self.now() < self._waits.get(target, (None, 0.0))[1] or not await self._try(
                    action, target
                ):
                    break
        return next(waiting, None) is None

    async def _try(self, action: Action, target: str) -> bool:
        verb = type(action).__name__
        try:
            await self._do(action)
        except KubeFault as fault:
            backoff = self._waits.get(target, (Backoff(self.random), 0.0))[0]
            wait_s = 0.0 if fault.is_conflict else backoff.failed(fault.retry_after_s)
            self._waits[target] = (backoff, self.now() + wait_s)
            self.acted(verb, "failed")
            if isinstance(action, WriteOverlay) and not fault.is_conflict:
                self.unwritten[action.namespace, action.name] = str(fault)
            facts = {"verb": verb, "resource": target, "status": fault.status, "reason": fault.reason}
            log.warning("not done", extra=facts)
            return False
        self._waits.pop(target, None)
        self.acted(verb, "done")
        return True

    async def _do(self, action: Action) -> None:
        match action:
            case WriteStatus(kind=kind, name=name, status=status):
                document = {"metadata": {"name": name}, "status": dict(status)}
                self._wrote(kind, await self.kube.apply(_KINDS[kind], document, "status"))
            case WriteOverlay():
                self._wrote(CONFIG_MAP.name, await self.kube.apply(CONFIG_MAP, configmap(action)))
                self.unwritten.pop((action.namespace, action.name), None)
                facts = {"network": action.network, "gateway": action.gateway, "revision": action.revision}
                log.info("overlay written", extra=facts)
            case RemoveOverlay(namespace=namespace, name=name):
                await self.kube.delete(CONFIG_MAP, name, namespace)
                self.unwritten.pop((namespace, name), None)
                mirror = self.observer.mirror_of(CONFIG_MAP.name, namespace)
                if mirror is not None:
                    mirror.removed(namespace, name)
            case WriteSite(name=name, spec=spec, labels=labels):
                document = {"metadata": {"name": name, "labels": dict(labels)}, "spec": dict(spec)}
                self._wrote(GRID_SITE.name, await self.kube.apply(GRID_SITE, document))
            case Emit():
                await self.kube.create(EVENT, event(action, self.instance, self.now()))

    def _wrote(self, kind: str, document: Document) -> None:
        mirror = self.observer.mirror_of(kind, document["metadata"].get("namespace", ""))
        if mirror is not None:
            mirror.wrote(document)


def configmap(action: WriteOverlay) -> Document:
    """The ConfigMap of an overlay, owned by its network."""
    name, uid = action.owner
    owner = {"apiVersion": GRID_NETWORK.api_version, "kind": GRID_NETWORK.name, "name": name, "uid": uid}
    return {
        "metadata": {
            "name": action.name,
            "namespace": action.namespace,
            "labels": {
                LABEL_MANAGED_BY: FIELD_MANAGER,
                LABEL_NETWORK: label_value(action.network),
                LABEL_GATEWAY: label_value(action.gateway),
            },
            "annotations": {ANNOTATION_REVISION: str(action.revision), ANNOTATION_DIGEST: action.digest},
            "ownerReferences": [owner],
        },
        "data": {OVERLAY_KEY: action.text},
    }


def event(action: Emit, instance: str, now: float) -> Document:
    """An events.k8s.io Event; its name is made of what it says and when, so a retry is the same one."""
    said = f"{action.kind}/{action.uid}/{action.reason}/{action.note}/{int(now)}"
    tag = hashlib.sha256(said.encode()).hexdigest()[:16]
    return {
        "metadata": {"name": f"{action.name[:40].rstrip('-.')}.{tag}", "namespace": EVENT_NAMESPACE},
        "eventTime": write_instant(int(now)).removesuffix("Z") + ".000000Z",
        "reportingController": FIELD_MANAGER,
        "reportingInstance": instance[:128],
        "action": "Reconcile",
        "reason": action.reason,
        "note": action.note,
        "type": "Warning" if action.warning else "Normal",
        "regarding": {
            "apiVersion": _KINDS[action.kind].api_version,
            "kind": action.kind,
            "name": action.name,
            "uid": action.uid,
        },
    }


def _target(action: Action) -> str:
    """What is left alone when it fails: the object."""
    if isinstance(action, WriteStatus | Emit):
        return f"{action.kind} {action.name}"
    if isinstance(action, WriteSite):
        return f"{GRID_SITE.name} {action.name}"
    return f"{CONFIG_MAP.name} {action.namespace}/{action.name}"
