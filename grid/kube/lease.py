"""One leader among replicas, by a Lease: who holds it leads, who sees it unrenewed for its length takes it.

Other clocks are never trusted: an expiry is measured here, from when a renewal was *seen*. A leader that
cannot renew stops leading before anybody else may begin.

Source: client-go's leaderelection package, its argument for skew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from grid.contract.instants import write_instant
from grid.kube.port import LEASE, Document, Kube, KubeFault

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """lease_s: unrenewed for so long it is free. renew_s: a leader unrenewed for so long steps down.

    renew_s is the shorter, so two never lead at once. retry_s: between two looks.
    """

    lease_s: float = 15.0
    renew_s: float = 10.0
    retry_s: float = 2.0


@dataclass(slots=True)
class Candidacy:
    """clock: monotonic seconds. now: Unix seconds, for people who read the Lease."""

    kube: Kube
    namespace: str
    name: str
    identity: str
    clock: Callable[[], float]
    now: Callable[[], float]
    terms: Terms = field(default_factory=Terms)
    changed: Callable[[], None] = lambda: None
    _seen: tuple[str, str] = ("", "")
    _seen_at: float = 0.0
    _renewed_at: float | None = None

    @property
    def leads(self) -> bool:
        """Whether this process may act, by its own clock, now."""
        return self._renewed_at is not None and self.clock() - self._renewed_at < self.terms.renew_s

    @property
    def holder(self) -> str:
        """Whose lease it was when it was last looked at; "" is nobody's."""
        return self.identity if self.leads else self._seen[0]

    async def run(self) -> None:
        """Stands until cancelled."""
        led = False
        while True:
            try:
                async with asyncio.timeout(self.terms.renew_s / 2):
                    await self._stand()
            except (KubeFault, TimeoutError) as fault:
                log.info("lease not renewed", extra={"reason": str(fault) or "timeout"})
            if self.leads != led:
                led = self.leads
                log.info("leading" if led else "following", extra={"instance": self.identity})
                self.changed()
            await asyncio.sleep(self.terms.retry_s)

    async def release(self) -> None:
        """Gives the lease up, so that another need not wait it out. A fault leaves it to expire."""
        if not self.leads:
            return
        self._renewed_at = None
        try:
            lease = await self.kube.get(LEASE, self.name, self.namespace)
            if lease["spec"].get("holderIdentity") == self.identity:
                lease["spec"] = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                await self.kube.replace(LEASE, lease)
        except KubeFault as fault:
            log.info("lease not released", extra={"reason": fault.reason})

    async def _stand(self) -> None:
        began = self.clock()
        try:
            lease = await self.kube.get(LEASE, self.name, self.namespace)
        except KubeFault as fault:
            if not fault.is_missing:
                raise
            await self.kube.create(LEASE, {"metadata": self._metadata(), "spec": self._spec({})})
            self._renewed_at = began
            return
        if not self._may_take(lease):
            self._renewed_at = None
            return
        await self.kube.replace(LEASE, {**lease, "spec": self._spec(lease.get("spec", {}))})
        self._renewed_at = began

    def _may_take(self, lease: Document) -> bool:
        spec = lease.get("spec", {})
        holder = spec.get("holderIdentity") or ""
        renewal = (holder, str(lease["metadata"]["resourceVersion"]))
        if renewal != self._seen:
            self._seen, self._seen_at = renewal, self.clock()
        length_s = max(float(spec.get("leaseDurationSeconds") or 0), self.terms.lease_s if holder else 0.0)
        return holder in {"", self.identity} or self.clock() - self._seen_at >= length_s

    def _metadata(self) -> Document:
        return {"name": self.name, "namespace": self.namespace}

    def _spec(self, before: Document) -> Document:
        stamp = write_instant(int(self.now())).removesuffix("Z") + ".000000Z"
        mine = before.get("holderIdentity") == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self.terms.lease_s)),
            "renewTime": stamp,
            "acquireTime": before.get("acquireTime", stamp) if mine else stamp,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if mine else 1),
        }
