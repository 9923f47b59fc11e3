"""Deletes objects with what they own, the other way round than they were applied, until they are gone."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from forge.host.kube import faults
from forge.host.kube.exchange import METADATA, Exchange
from forge.host.kube.labels import is_owned
from forge.host.kube.patience import Patience
from forge.host.kube.ranks import rank
from forge.host.kube.together import together
from forge.host.kube.transport import Request
from forge.plan.lab_ports import Object, ObjectRef
from forge.plan.ports import Cancel
from forge.plan.values import Owner

AT_ONCE = 8
BUDGET_S = 120.0
GONE_S = 300.0
"""Seconds until an object is gone: a namespace takes its pods down first, 30 s each by default."""


def _propagation(ref: ObjectRef) -> str:
    """What runs, and custom objects, go after what they own, so that waiting for them is waiting for their
    pods. Nobody waits for what belongs to anything else, and its controller may make it anew meanwhile."""
    return "Foreground" if rank(ref.api_version, ref.kind) in (2, 3) else "Background"


class Deleting:
    """One call of delete."""

    def __init__(
        self, exchange: Exchange, owner: Owner | None, cancel: Cancel, grace_s: int | None = None
    ) -> None:
        self._exchange = exchange
        self._owner = owner
        self._cancel = cancel
        self._grace = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        self._patience = Patience(BUDGET_S, cancel)

    def run(self, refs: Collection[ObjectRef]) -> tuple[ObjectRef, ...]:
        """Those that were there. Raises FG0750 for what does not go."""
        ranks: dict[int, list[ObjectRef]] = {}
        for ref in refs:
            ranks.setdefault(rank(ref.api_version, ref.kind), []).append(ref)
        gone: list[ObjectRef] = []
        for number in sorted(ranks, reverse=True):
            gone += self._rank(ranks[number])
        return tuple(gone)

    def _rank(self, refs: Sequence[ObjectRef]) -> list[ObjectRef]:
        uids = together(self._begin, refs, AT_ONCE)
        begun = [(ref, uid) for ref, uid in zip(refs, uids, strict=True) if uid]
        together(self._await, begun, AT_ONCE)
        return [ref for ref, _ in begun]

    def _begin(self, ref: ObjectRef) -> str:
        """Asks for its deletion; gives its uid, empty where it is not there, or not to be deleted."""
        found = self._get(ref)
        if found is None or (self._owner is not None and not is_owned(found, self._owner)):
            return ""
        uid = str(found["metadata"]["uid"])
        if ref.uid and ref.uid != uid:
            return ""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": _propagation(ref),
            "preconditions": {"uid": uid},
            **self._grace,
        }
        what = f"delete {faults.title(ref)}"
        reply = self._exchange.ask(Request("DELETE", self._path(ref), body=options), what, self._patience)
        if not reply.is_ok and reply.status not in (404, 409):  # 409: another one of its name by now
            raise self._exchange.refused(reply, what)
        return uid

    def _await(self, begun: tuple[ObjectRef, str]) -> None:
        ref, uid = begun
        deadline, wait = time.monotonic() + GONE_S, 0.02
        while (found := self._get(ref)) is not None and found["metadata"].get("uid") == uid:
            if self._cancel.wait(wait):
                raise self._exchange.stopped(f"delete {faults.title(ref)}")
            if time.monotonic() > deadline:
                raise faults.stays(faults.title(ref), found, GONE_S)
            wait = min(wait * 2, 1.0)

    def _get(self, ref: ObjectRef) -> Object | None:
        if self._exchange.kind(ref.api_version, ref.kind, again=False) is None and not self._is_served(ref):
            return None
        return self._exchange.json(
            Request("GET", self._path(ref), accept=METADATA), f"read {faults.title(ref)}", self._patience
        )

    def _is_served(self, ref: ObjectRef) -> bool:
        return self._exchange.kind(ref.api_version, ref.kind) is not None

    def _path(self, ref: ObjectRef) -> str:
        resource = self._exchange.kind(ref.api_version, ref.kind, again=False)
        return resource.path(ref.namespace or "default", ref.name) if resource is not None else ""
