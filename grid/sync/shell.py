"""Runs `follow` over a ConfigMap and a file: get, watch, write, look again; and reconnect for ever.

Every text goes through one lock to the file, so two of them never cross. Nothing here judges a document.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grid.contract.overlay import Scope
from grid.kube.backoff import Backoff
from grid.kube.port import CONFIG_MAP, Document, Kube, KubeFault
from grid.sync import file
from grid.sync.follow import Following, Outcome, Step, began, deleted, looked, shown
from grid.sync.metrics import SyncMetrics

log = logging.getLogger(__name__)
LOOK_AGAIN_S = 10.0
# A stream that lived this long was a good one, however it ended.
_GOOD_STREAM_S = 30.0
# One that ended sooner is not asked for again at once.
_SHORT_STREAM_S = 1.0


@dataclass(frozen=True, slots=True)
class Source:
    """Which ConfigMap's key is followed, and whose overlay it must be."""

    namespace: str
    configmap: str
    key: str
    expected: Scope


@dataclass(slots=True)
class Syncer:
    """now: Unix seconds. random: 0..1, for jitter."""

    kube: Kube
    source: Source
    output: Path
    metrics: SyncMetrics
    now: Callable[[], float]
    random: Callable[[], float]
    look_again_s: float = LOOK_AGAIN_S
    following: Following = field(default_factory=Following)
    write_failed: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def begin(self) -> None:
        """Takes what an earlier process left in the file as the reference. Raises OSError."""
        self.following = began(file.read(self.output), self.source.expected, self.now())

    async def first(self) -> Step:
        """One get, and its document in the file if it is good. Raises KubeFault, OSError."""
        document = await self.kube.get(CONFIG_MAP, self.source.configmap, self.source.namespace)
        return await self._show(document)

    async def run(self) -> None:
        """Follows until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._look_again())

    async def _follow(self) -> None:
        backoff = Backoff(self.random)
        while True:
            began_at = self.now()
            asked_s = None
            try:
                await self._one_stream()
                outcome = "ended"
            except KubeFault as fault:
                outcome = "gone" if fault.is_gone else "fault"
                asked_s = fault.retry_after_s
                log.warning("watch lost", extra={"reason": fault.reason, "status": fault.status})
            self.metrics.reconnects.add(outcome)
            lasted_s = self.now() - began_at
            if lasted_s > _GOOD_STREAM_S:
                backoff.calm()
            if outcome == "fault" or lasted_s < _SHORT_STREAM_S:
                await asyncio.sleep(backoff.failed(asked_s))

    async def _one_stream(self) -> None:
        """Get, then changes from there on, until the stream ends."""
        source = self.source
        version = await self._get()
        async for change in self.kube.watch(CONFIG_MAP, version, source.namespace, name=source.configmap):
            if change.verb == "DELETED":
                await self._do(deleted(self.following))
            elif change.verb != "BOOKMARK":
                await self._show(change.document)

    async def _get(self) -> str:
        """Shows the object as it is, and the version to watch from; a missing one is a deleted one."""
        source = self.source
        try:
            document = await self.kube.get(CONFIG_MAP, source.configmap, source.namespace)
        except KubeFault as fault:
            if not fault.is_missing:
                raise
            await self._do(deleted(self.following))
            return (await self.kube.list(CONFIG_MAP, source.namespace)).resource_version
        await self._show(document)
        return str(document["metadata"]["resourceVersion"])

    async def _look_again(self) -> None:
        """A file somebody changed is put back, whether or not the source says anything."""
        while True:
            await asyncio.sleep(self.look_again_s)
            await self._check()

    async def _check(self) -> None:
        step = looked(self.following, await asyncio.to_thread(file.read, self.output))
        if step is not None:
            await self._do(step)

    async def _show(self, document: Document) -> Step:
        text = (document.get("data") or {}).get(self.source.key)
        step = shown(self.following, text, self.source.expected, self.now())
        await self._do(step)
        await self._check()
        return step

    async def _do(self, step: Step) -> None:
        """The file first: what could not be written is not followed."""
        async with self._lock:
            self.metrics.events.add(step.outcome)
            if step.outcome is Outcome.REJECTED:
                self.metrics.rejections.add(step.detail)
            if step.write is not None and not await self._write(step.write):
                return
            self.following = step.following
        overlay = step.following.overlay
        if step.outcome is not Outcome.UNCHANGED:
            facts = {
                "outcome": step.outcome,
                "reason": step.detail,
                "revision": overlay.label if overlay else "",
            }
            log.info("overlay seen", extra=facts)

    async def _write(self, data: bytes) -> bool:
        try:
            await asyncio.to_thread(file.replace, self.output, data)
        except OSError as fault:
            log.error("overlay not written", extra={"error": fault.strerror or type(fault).__name__})
            self.metrics.writes.add("failure")
            self.write_failed = True
            return False
        self.metrics.writes.add("success")
        self.write_failed = False
        return True
