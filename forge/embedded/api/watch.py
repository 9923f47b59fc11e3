"""Watches: who hears of which event, without one watcher's speed being another's.

The hub keeps watchers by (resource, namespace), so that an event costs one step for each watcher
that could want it and none for the rest. What a watcher sees is decided here; how an event looks on
the wire (`Shape`) is made once and shared by all watchers that want the same look. A watcher whose
connection takes bytes is written to at once; only one that does not keep up has a queue.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Protocol

from forge.embedded.api.values import ADDED, DELETED, MODIFIED, Event, Json, Record, encode

# A watcher further behind than this is dropped with 410, as the real cache does with a full channel.
QUEUE_LIMIT = 1_000
# And one of large objects sooner, since what it has not read yet is held in memory.
QUEUE_BYTES = 32 * 1024 * 1024

Matches = Callable[[Json], bool]
# Writes a frame to the connection now; False when it takes none at the moment.
Sink = Callable[[bytes], bool]


class Shape(Protocol):
    """How one event looks to some watchers. key: equal for shapes that make equal frames."""

    @property
    def key(self) -> Hashable: ...
    def frame(self, type_: str, record: Record) -> bytes: ...


class Watcher:
    """One open watch: a bounded queue of frames and the bell that wakes its reader."""

    def __init__(self, shape: Shape, matches: Matches | None) -> None:
        self._shape = shape
        self._matches = matches
        self._queue: deque[bytes] = deque()
        self._held = 0
        self._bell = asyncio.Event()
        self.dropped = False
        self.closed = False
        # Set once the stream is open: waking a task for each event costs more than writing it.
        self.sink: Sink | None = None
        # A watch may start at a version that is still to come; what lies before is not for it.
        self.skip_until = 0

    def offer(self, event: Event) -> None:
        """Queues the event if this watcher is to see it; too far behind, drops the watcher."""
        if self.dropped or event.version <= self.skip_until:
            return
        seen = self._judge(event)
        if seen is None:
            return
        frame = self._frame(event, *seen)
        if self.sink is not None and not self._queue and not self.closed and self.sink(frame):
            return
        self._held += len(frame)
        if len(self._queue) >= QUEUE_LIMIT or (self._queue and self._held > QUEUE_BYTES):
            self.dropped = True
            self._queue.clear()
        else:
            self._queue.append(frame)
        self._bell.set()

    def push(self, frame: bytes) -> None:
        """Queues a frame of the caller's own, whatever the length of the queue."""
        self._queue.append(frame)
        self._bell.set()

    def close(self) -> None:
        """Ends the watch after what is queued."""
        self.closed = True
        self._bell.set()

    async def take(self) -> bytes:
        """All that is queued, as soon as there is any; empty once dropped or closed."""
        while not self._queue and not self.dropped and not self.closed:
            self._bell.clear()
            await self._bell.wait()
        taken = b"".join(self._queue)
        self._queue.clear()
        self._held = 0
        return taken

    def _judge(self, event: Event) -> tuple[str, Record] | None:
        """What this watcher is told: selectors turn changes into arrivals and departures."""
        if self._matches is None:
            return event.type, event.record
        before = event.previous is not None and self._matches(event.previous.object)
        if event.type == DELETED:
            return (DELETED, event.record) if before else None
        after = self._matches(event.record.object)
        if after:
            return (MODIFIED if before else ADDED), event.record
        return (DELETED, departed(event)) if before else None

    def _frame(self, event: Event, type_: str, record: Record) -> bytes:
        key = (self._shape.key, type_, record is event.record)
        frame = event.frames.get(key)
        if frame is None:
            frame = event.frames[key] = self._shape.frame(type_, record)
        return frame


def departed(event: Event) -> Record:
    """The object as it was before, at the version of the event that made it stop to match."""
    document = (event.previous or event.record).copy()
    document["metadata"]["resourceVersion"] = str(event.version)
    return Record(event.record.key, event.version, encode(document), document)


class Hub:
    """All open watches. Subscribed to the store, so that it hears each event once, in order."""

    def __init__(self) -> None:
        self._watchers: dict[tuple[str, str], dict[Watcher, None]] = {}

    def add(self, resource: str, namespace: str, watcher: Watcher) -> None:
        """namespace: empty for all of them."""
        self._watchers.setdefault((resource, namespace), {})[watcher] = None

    def remove(self, resource: str, namespace: str, watcher: Watcher) -> None:
        held = self._watchers.get((resource, namespace), {})
        held.pop(watcher, None)
        if not held:
            self._watchers.pop((resource, namespace), None)

    def publish(self, event: Event) -> None:
        key = event.record.key
        places = (
            ((key.resource, ""), (key.resource, key.namespace)) if key.namespace else ((key.resource, ""),)
        )
        for place in places:
            for watcher in self._watchers.get(place, ()):
                watcher.offer(event)
        # Live watchers have taken their frames; later readers of the history make their own.
        event.frames.clear()

    def close(self, resource: str | None = None) -> None:
        """Ends the watches of *resource*, or all."""
        for place, watchers in list(self._watchers.items()):
            if resource is None or place[0] == resource:
                for watcher in list(watchers):
                    watcher.close()

    def count(self) -> int:
        return sum(len(watchers) for watchers in self._watchers.values())
