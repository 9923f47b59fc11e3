"""The API for code in the same process: the same operations, without HTTP, tokens or encoding.

What controllers and the kubelet use. Documents handed out are the caller's own; errors are ApiError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from forge.embedded.api import deletes, documents, reads, status, table, views, writes
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.deletes import DeleteOptions
from forge.embedded.api.options import ListOptions, WriteOptions
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Event, Json, Key
from forge.embedded.api.watch import Watcher


@dataclass(frozen=True, slots=True)
class Change:
    """type: ADDED, MODIFIED or DELETED. object: shared, read only."""

    type: str
    object: Json


class LocalClient:
    """Acts on *cluster* as the field manager *name*, with all rights."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._asked = WriteOptions(manager=name, validation="Ignore", manager_given=True)

    def resource(self, plural: str, group: str = "", version: str = "v1") -> Resource:
        """Raises 404 for what is not served."""
        found = self._cluster.registry.find(group, version, plural)
        if found is None:
            raise status.no_such_resource()
        return found

    def get(self, resource: Resource, name: str, namespace: str = "") -> Json | None:
        """The object, or None."""
        record = self._cluster.store.get(Key(resource.storage, namespace, name))
        return views.view(record, resource).copy() if record else None

    def list(self, resource: Resource, namespace: str = "", labels: str = "") -> tuple[tuple[Json, ...], int]:
        """(objects in order of name, the version to watch from)."""
        page = reads.list_page(self._cluster, resource, namespace, ListOptions(labels=labels))
        return tuple(record.copy() for record in page.records), page.version

    @asynccontextmanager
    async def watch(self, resource: Resource, version: int, namespace: str = "") -> AsyncIterator[LocalWatch]:
        """Changes after *version*, while the context is open. Raises 410 for a trimmed version."""
        if version < self._cluster.history_start(resource.storage):
            raise status.expired(f"too old resource version: {version}")
        watch = LocalWatch(resource)
        for event in self._cluster.store.since(resource.storage, version):
            if not namespace or event.record.key.namespace == namespace:
                watch.offer(event)
        self._cluster.hub.add(resource.storage, namespace, watch)
        try:
            yield watch
        finally:
            self._cluster.hub.remove(resource.storage, namespace, watch)

    def create(self, resource: Resource, document: Json, namespace: str = "") -> Json:
        return writes.create(self._cluster, resource, namespace, document, self._asked).copy()

    def update(self, resource: Resource, document: Json, *, subresource: str = "") -> Json:
        """Replaces; a resourceVersion in *document* must be the current one."""
        key = _key(resource, document)
        return writes.update(
            self._cluster, resource, key, lambda _: document, self._asked, subresource=subresource
        ).copy()

    def update_status(self, resource: Resource, document: Json) -> Json:
        return self.update(resource, document, subresource="status")

    def patch(
        self, resource: Resource, name: str, patch: Json, namespace: str = "", *, subresource: str = ""
    ) -> Json:
        """A merge patch."""
        key = Key(resource.storage, namespace, name)

        def change(document: Json) -> Json:
            return documents.patched(document, patch, "application/merge-patch+json", resource)

        return writes.update(
            self._cluster, resource, key, change, self._asked, subresource=subresource
        ).copy()

    def apply(self, resource: Resource, document: Json, namespace: str = "") -> Json:
        """A forced server-side apply to an object that is there. Raises 404."""
        key = Key(resource.storage, namespace, document["metadata"]["name"])
        asked = replace(self._asked, force=True)

        def change(live: Json) -> Json:
            return documents.applied(self._cluster, resource, live, document, asked, "")

        return writes.update(self._cluster, resource, key, change, asked, tracked=True).copy()

    def delete(
        self, resource: Resource, name: str, namespace: str = "", asked: DeleteOptions | None = None
    ) -> None:
        """Raises 404."""
        key = Key(resource.storage, namespace, name)
        deletes.delete(self._cluster, resource, key, asked or DeleteOptions())


def _key(resource: Resource, document: Json) -> Key:
    meta = document["metadata"]
    return Key(resource.storage, meta.get("namespace", ""), meta["name"])


class LocalWatch(Watcher):
    """Changes as values, in order; iterate it."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(table.PlainShape("local"), None)
        self._resource = resource
        self._changes: list[Event] = []

    def offer(self, event: Event) -> None:
        self._changes.append(event)
        self._bell.set()

    async def next(self) -> Change:
        """The next change, as soon as there is one."""
        while not self._changes:
            self._bell.clear()
            await self._bell.wait()
        event = self._changes.pop(0)
        return Change(event.type, views.view(event.record, self._resource).object)

    async def __aiter__(self) -> AsyncIterator[Change]:
        while True:
            yield await self.next()
