"""Opening a watch: what it starts with, and from where it goes on.

Without a version, or with 0, a watch starts with every object as ADDED; from a version with what has
happened since; as a WatchList (`sendInitialEvents`) with every object and a bookmark that says so.
All of it is queued before the watcher joins the hub, in one step, so nothing is missed or told twice.
"""

from __future__ import annotations

import base64
from collections.abc import Hashable
from typing import TYPE_CHECKING

from forge.embedded.api import options, reads, status, table, views
from forge.embedded.api.exchange import Stream
from forge.embedded.api.negotiate import Answer
from forge.embedded.api.options import ListOptions
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import ADDED, Json, Record, encode
from forge.embedded.api.watch import Shape, Watcher

if TYPE_CHECKING:
    from forge.embedded.api.serving import Served

# The real server ends a watch without a timeout after 30 to 60 minutes.
_DEFAULT_TIMEOUT_S = 1800.0
BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"
INITIAL_END = "k8s.io/initial-events-end"


class ViewShape:
    """Another shape over the objects as *resource* serves them."""

    def __init__(self, resource: Resource, inner: Shape) -> None:
        self._resource = resource
        self._inner = inner

    @property
    def key(self) -> Hashable:
        return self._resource.api_version, self._inner.key

    def frame(self, type_: str, record: Record) -> bytes:
        return self._inner.frame(type_, views.view(record, self._resource))


def open_watch(served: Served, form: Answer, asked: ListOptions) -> Stream:
    """A watcher with its first events queued, joined to the hub. Raises 400 for bad selectors."""
    cluster, resource, ask = served.cluster, served.resource, served.ask
    if asked.send_initial:
        # As 1.32 does: a WatchList is always told in plain objects.
        form = Answer(form.media)
    namespace = ask.target.namespace if resource.namespaced else ""
    matches = reads.matcher(resource, named(asked, ask.target.name))
    shape = _shape(served, form)
    watcher = Watcher(shape, matches)
    frame = bookmark(served.resource, cluster.store.version, initial=True)
    if _starts_whole(asked):
        _queue_all(served, namespace, watcher, matches, shape)
        wants_end = asked.bookmarks and (asked.send_initial or asked.send_initial is None)
        if wants_end:
            watcher.push(frame)
    elif asked.version < cluster.history_start(resource.storage):
        start = cluster.history_start(resource.storage)
        watcher.push(expired(f"too old resource version: {asked.version} ({start})"))
        watcher.close()
    else:
        for event in cluster.store.since(resource.storage, asked.version):
            if not namespace or event.record.key.namespace == namespace:
                watcher.offer(event)
                event.frames.clear()
        if asked.send_initial:
            watcher.push(frame)
    watcher.skip_until = max(0, asked.version)
    if not watcher.closed:
        cluster.hub.add(resource.storage, namespace, watcher)
    timeout_s = float(asked.timeout_s) or _DEFAULT_TIMEOUT_S
    return Stream(watcher, resource, namespace, timeout_s, asked.bookmarks)


def named(asked: ListOptions, name: str) -> ListOptions:
    """A watch on one object's path is a watch with a field selector."""
    if not name:
        return asked
    fields = f"{asked.fields},metadata.name={name}" if asked.fields else f"metadata.name={name}"
    return options.ListOptions(asked.labels, fields)


def _starts_whole(asked: ListOptions) -> bool:
    if asked.send_initial is not None:
        return asked.send_initial
    return asked.version <= 0


def _queue_all(
    served: Served, namespace: str, watcher: Watcher, matches: reads.Matches | None, shape: Shape
) -> None:
    for record in served.cluster.store.records(served.resource.storage, namespace):
        if matches is None or matches(views.view(record, served.resource).object):
            watcher.push(shape.frame(ADDED, record))


def _shape(served: Served, form: Answer) -> Shape:
    if form.kind == "Table":
        include = served.ask.query.get("includeObject", "")
        table.check_include(include)
        return ViewShape(
            served.resource, table.TableShape(served.resource, served.cluster.clock, form.version, include)
        )
    if form.kind:
        return ViewShape(served.resource, table.PartialShape("", form.version))
    return ViewShape(served.resource, table.PlainShape(""))


def bookmark(resource: Resource, version: int, *, initial: bool = False) -> bytes:
    """A BOOKMARK event; initial: the one that ends the initial events."""
    meta: Json = {"resourceVersion": str(version)}
    if resource.custom is None:
        meta["creationTimestamp"] = None
    if initial:
        meta["annotations"] = {INITIAL_END: "true", BLUEPRINT: _blueprint(resource)}
    document: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
    return encode({"type": "BOOKMARK", "object": document}) + b"\n"


def _blueprint(resource: Resource) -> str:
    """An empty list of the kind, encoded as the real server encodes it."""
    if resource.custom is not None:
        empty: Json = {"apiVersion": resource.api_version, "items": [], "kind": resource.lists}
    else:
        empty = {"kind": resource.lists, "apiVersion": resource.api_version, "metadata": {}, "items": None}
    return base64.b64encode(encode(empty) + b"\n").decode()


def expired(message: str) -> bytes:
    """The ERROR event that ends a watch which lost its place."""
    return encode({"type": "ERROR", "object": status.expired(message).status()}) + b"\n"


def dropped() -> bytes:
    """What a watcher is told that did not keep up."""
    return expired("too old resource version: the watcher did not keep up with the events")
