"""A Kube in memory: versions, watches, conflicts and old versions behave as in an API server; faults by order.

It is held to the same contract tests as the real client. Status is a subresource: applying an object leaves it.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grid.kube.port import Change, Document, Kind, KubeFault, Listed

Key = tuple[str, str, str]


@dataclass
class FakeKube:
    """faults: raised by the next calls, one each, before they do anything. calls: verbs with names, in order.

    compacted: versions up to it are too old to watch from. closed: namespaces nobody is let into.
    """

    faults: list[KubeFault] = field(default_factory=list)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    compacted: int = 0
    closed: set[str] = field(default_factory=set)
    _objects: dict[Key, Document] = field(default_factory=dict)
    _history: list[tuple[int, Key, Change]] = field(default_factory=list)
    _version: int = 1
    _streams: list[asyncio.Event] = field(default_factory=list)
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Document:
        self._called("get", kind, name)
        return copy.deepcopy(self._found((kind.plural, namespace, name)))

    async def list(
        self, kind: Kind, namespace: str = "", selector: Mapping[str, str] | None = None
    ) -> Listed:
        self._called("list", kind)
        if namespace in self.closed:
            raise KubeFault(403, "Forbidden")
        items = tuple(
            copy.deepcopy(document)
            for key, document in sorted(self._objects.items())
            if _fits(key, document, kind, namespace, selector)
        )
        return Listed(items, str(self._version))

    async def watch(
        self,
        kind: Kind,
        resource_version: str,
        namespace: str = "",
        selector: Mapping[str, str] | None = None,
        name: str = "",
    ) -> AsyncIterator[Change]:
        self._called("watch", kind, name)
        seen, ended = int(resource_version), asyncio.Event()
        if seen < self.compacted:
            raise KubeFault(410, "Expired")
        self._streams.append(ended)
        while not ended.is_set():
            latest = self._version
            for version, key, change in list(self._history):
                fits = _fits(key, change.document, kind, namespace, selector) and name in {"", key[2]}
                if version > seen and fits:
                    yield copy.deepcopy(change)
            seen = max(seen, latest)
            async with self._moved:
                if seen >= self._version and not ended.is_set():
                    await self._moved.wait()

    async def apply(self, kind: Kind, document: Document, subresource: str = "") -> Document:
        self._called(f"apply {subresource}".strip(), kind, document["metadata"]["name"])
        key = _key(kind, document)
        before = self._objects.get(key)
        if before is None and subresource:
            raise KubeFault(404, "NotFound")
        made = copy.deepcopy(before or {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}})
        given = copy.deepcopy(document)
        metadata = given.pop("metadata")
        if subresource:
            given = {subresource: given[subresource]}
        for name, value in metadata.items():
            made["metadata"][name] = (
                {**made["metadata"].get(name, {}), **value} if isinstance(value, dict) else value
            )
        made.update(given)
        return await self._store(key, before, made)

    async def create(self, kind: Kind, document: Document) -> Document:
        self._called("create", kind, document["metadata"]["name"])
        key = _key(kind, document)
        if key in self._objects:
            raise KubeFault(409, "AlreadyExists")
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **copy.deepcopy(document)}
        return await self._store(key, None, whole)

    async def replace(self, kind: Kind, document: Document) -> Document:
        self._called("replace", kind, document["metadata"]["name"])
        key = _key(kind, document)
        before = self._found(key)
        given = document["metadata"].get("resourceVersion")
        if given is not None and given != before["metadata"]["resourceVersion"]:
            raise KubeFault(409, "Conflict")
        whole = {"apiVersion": kind.api_version, "kind": kind.name, **copy.deepcopy(document)}
        return await self._store(key, before, whole)

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        self._called("delete", kind, name)
        gone = self._objects.pop((kind.plural, namespace, name), None)
        if gone is not None:
            await self._happened((kind.plural, namespace, name), "DELETED", gone)

    async def end_streams(self) -> None:
        """Every watch ends, as when a server restarts."""
        for ended in self._streams:
            ended.set()
        self._streams.clear()
        async with self._moved:
            self._moved.notify_all()

    def shown(self, kind: Kind, name: str, namespace: str = "") -> Document | None:
        """An object as it is, without a call; None if it is not there."""
        return copy.deepcopy(self._objects.get((kind.plural, namespace, name)))

    def all(self, kind: Kind) -> tuple[Document, ...]:
        """All of a kind, without a call."""
        return tuple(document for key, document in self._objects.items() if key[0] == kind.plural)

    def compact(self) -> None:
        """Forgets what happened so far: a watch from before is too old."""
        self.compacted = self._version
        self._history.clear()

    def _called(self, verb: str, kind: Kind, name: str = "") -> None:
        self.calls.append((verb, kind.name, name))
        if self.faults:
            raise self.faults.pop(0)

    def _found(self, key: Key) -> Document:
        if key not in self._objects:
            raise KubeFault(404, "NotFound")
        return self._objects[key]

    async def _store(self, key: Key, before: Document | None, made: Document) -> Document:
        if before is not None and _bare(before) == _bare(made):
            return copy.deepcopy(before)
        metadata: dict[str, Any] = made["metadata"]
        metadata.setdefault("uid", f"uid-{key[2]}")
        spec_moved = before is None or before.get("spec") != made.get("spec")
        metadata["generation"] = (before or {}).get("metadata", {}).get("generation", 0) + spec_moved
        self._objects[key] = made
        await self._happened(key, "ADDED" if before is None else "MODIFIED", made)
        return copy.deepcopy(made)

    async def _happened(self, key: Key, verb: str, document: Document) -> None:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        self._history.append((self._version, key, Change(verb, copy.deepcopy(document))))
        async with self._moved:
            self._moved.notify_all()


def _key(kind: Kind, document: Document) -> Key:
    metadata = document["metadata"]
    return (kind.plural, metadata.get("namespace", ""), metadata["name"])


def _bare(document: Document) -> Document:
    """Without what the server itself keeps."""
    found = copy.deepcopy(document)
    for own in ("resourceVersion", "generation", "uid", "creationTimestamp", "managedFields"):
        found["metadata"].pop(own, None)
    return found


def _fits(
    key: Key, document: Document, kind: Kind, namespace: str, selector: Mapping[str, str] | None
) -> bool:
    labels = document["metadata"].get("labels", {})
    wanted = (selector or {}).items()
    return (
        key[0] == kind.plural
        and namespace in {"", key[1]}
        and all(labels.get(label) == value for label, value in wanted)
    )
