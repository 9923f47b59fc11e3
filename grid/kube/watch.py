"""A kind of objects kept as they are: list, then watch from there; list again when that is too old.

A Mirror holds what the API last said of each object and wakes whoever uses it. What this process wrote itself
is taken from the answer at once, so it is never decided twice; an older event that comes later is skipped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grid.kube.backoff import Backoff
from grid.kube.port import Document, Kind, Kube, KubeFault

log = logging.getLogger(__name__)
Name = tuple[str, str]
SHORT_STREAM_S = 1.0


@dataclass(slots=True)
class Mirror:
    """changed: called on every change. random: 0..1, for jitter.

    objects: by (namespace, name). synced: a list has been read once. count: of changes, to tell states apart.
    lost: why nothing new is heard now; "" while it is. refused: it is this account that is not let in.
    """

    kube: Kube
    kind: Kind
    changed: Callable[[], None]
    random: Callable[[], float]
    namespace: str = ""
    selector: Mapping[str, str] | None = None
    objects: dict[Name, Document] = field(default_factory=dict)
    synced: bool = False
    count: int = 0
    lost: str = ""
    refused: bool = False

    async def run(self) -> None:
        """Follows until cancelled; a fault costs a pause, never an object."""
        backoff = Backoff(self.random)
        while True:
            asked_s: float | None = None
            try:
                await self._follow(backoff)
                continue
            except KubeFault as fault:
                asked_s = fault.retry_after_s
                if fault.is_gone:
                    continue
                self._lose(fault)
                facts = {"kind": self.kind.name, "status": fault.status, "reason": fault.reason}
                log.warning("watch lost", extra=facts)
            await asyncio.sleep(backoff.failed(asked_s))

    def wrote(self, document: Document) -> None:
        """The answer to a write of our own."""
        self._put(document)

    def removed(self, namespace: str, name: str) -> None:
        """An object we deleted ourselves."""
        if self.objects.pop((namespace, name), None) is not None:
            self._moved()

    def _lose(self, fault: KubeFault) -> None:
        was_refused, self.lost, self.refused = self.refused, fault.reason, fault.is_forbidden
        if was_refused != self.refused:
            self._moved()

    async def _follow(self, backoff: Backoff) -> None:
        listed = await self.kube.list(self.kind, self.namespace, self.selector)
        self.lost, self.refused = "", False
        self._replace(listed.items)
        version, loop = listed.resource_version, asyncio.get_running_loop()
        while True:
            began = loop.time()
            async for change in self.kube.watch(self.kind, version, self.namespace, self.selector):
                version = change.resource_version or version
                if change.verb == "DELETED":
                    self._gone(change.document)
                elif change.verb != "BOOKMARK":
                    self._put(change.document)
                backoff.calm()
            if loop.time() - began < SHORT_STREAM_S:
                # A server that ends every stream at once is not asked again at once; one that ends a quiet
                # stream when its time is over has done what it was asked.
                await asyncio.sleep(backoff.failed())

    def _replace(self, documents: tuple[Document, ...]) -> None:
        """What a list does not hold is gone; what was written after it began is newer than it."""
        found = {_name(document): document for document in documents}
        for name in self.objects.keys() - found.keys():
            del self.objects[name]
        for document in documents:
            self._put(document)
        self.synced = True
        self._moved()

    def _put(self, document: Document) -> None:
        # Who owns which field is a third of an object, and nobody here asks.
        document["metadata"].pop("managedFields", None)
        name = _name(document)
        before = self.objects.get(name)
        if before is None or _is_newer(document, before):
            self.objects[name] = document
            self._moved()

    def _gone(self, document: Document) -> None:
        before = self.objects.get(_name(document))
        if before is not None and not _is_newer(before, document):
            del self.objects[_name(document)]
            self._moved()

    def _moved(self) -> None:
        self.count += 1
        self.changed()


def _name(document: Document) -> Name:
    metadata = document["metadata"]
    return (str(metadata.get("namespace", "")), str(metadata["name"]))


def _is_newer(one: Document, other: Document) -> bool:
    """By resourceVersion, which API servers count up; another uid is another object, and the newer one."""
    mine: Document = one["metadata"]
    theirs: Document = other["metadata"]
    if mine.get("uid") != theirs.get("uid"):
        return True
    try:
        return int(mine["resourceVersion"]) > int(theirs["resourceVersion"])
    except (KeyError, ValueError):
        return bool(mine.get("resourceVersion") != theirs.get("resourceVersion"))
