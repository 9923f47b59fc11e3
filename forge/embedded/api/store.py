"""Every object and the recent history of each: memory answers, the journal remembers.

One counter numbers all writes (resourceVersion). The history is what watches resume from and what
lists at an older version are rebuilt from; it is trimmed to a number of events and of bytes, and what
lies before it is answered with 410 by the callers. All calls are synchronous: a caller that does not
await between reading and writing has changed the object atomically.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from forge.embedded.api.journal import Journal
from forge.embedded.api.values import ADDED, DELETED, MODIFIED, Event, Json, Key, Record, encode

# The real server keeps five minutes; a lab's busiest minutes stay below this many writes.
RETAINED_EVENTS = 10_000
# Ten thousand writes of objects of a megabyte would be ten gigabytes of this process.
RETAINED_BYTES = 64 * 1024 * 1024


class Store:
    """Objects by resource and key. Subscribers are called for each event, after it is durable."""

    def __init__(
        self,
        journal: Journal | None = None,
        retained: int = RETAINED_EVENTS,
        most_bytes: int = RETAINED_BYTES,
    ) -> None:
        self._journal = journal
        self._retained = retained
        self._most_bytes = most_bytes
        self._objects: dict[str, dict[Key, Record]] = {}
        self._history: dict[str, list[Event]] = {}
        self._events = 0
        self._bytes = 0
        self._subscribers: list[Callable[[Event], None]] = []
        self.version = 1
        self.compacted = 1
        if journal is not None:
            self._load(journal)

    def _load(self, journal: Journal) -> None:
        self.compacted = max(1, journal.mark("compacted"))
        self.version = max(self.compacted, journal.mark("version"))
        for record in journal.objects():
            self._objects.setdefault(record.key.resource, {})[record.key] = record
            self.version = max(self.version, record.version)
        for event in journal.events():
            self._remember(event)
            self.version = max(self.version, event.version)

    def subscribe(self, subscriber: Callable[[Event], None]) -> None:
        """Calls *subscriber* with every later event, in order."""
        self._subscribers.append(subscriber)

    def get(self, key: Key) -> Record | None:
        found = self._objects.get(key.resource)
        return found.get(key) if found else None

    def records(self, resource: str, namespace: str = "") -> list[Record]:
        """Records in the order of their keys; all namespaces when *namespace* is empty."""
        records = self._objects.get(resource, {}).values()
        chosen = [r for r in records if not namespace or r.key.namespace == namespace]
        chosen.sort(key=lambda r: r.key.place)
        return chosen

    def resources(self) -> tuple[str, ...]:
        """Resources that hold at least one object."""
        return tuple(name for name, held in self._objects.items() if held)

    def put(self, key: Key, document: Json) -> Record:
        """Stores *document* under the next version, which is written into its metadata."""
        held = self._objects.setdefault(key.resource, {})
        before = held.get(key)
        record = self._record(key, document)
        self._commit(Event(MODIFIED if before else ADDED, record, before))
        return record

    def remove(self, key: Key, document: Json | None = None) -> Record:
        """Deletes; the DELETED event carries *document*, or the object as it was, at a new version.

        Raises KeyError when there is no such object.
        """
        before = self._objects[key.resource][key]
        record = self._record(key, before.copy() if document is None else document)
        self._commit(Event(DELETED, record, before))
        return record

    def _record(self, key: Key, document: Json) -> Record:
        version = self.version + 1
        document["metadata"]["resourceVersion"] = str(version)
        return Record(key, version, encode(document), document)

    def _commit(self, event: Event) -> None:
        if self._journal is not None:
            self._journal.write(event)
        key = event.record.key
        held = self._objects[key.resource]
        if event.type == DELETED:
            del held[key]
        else:
            held[key] = event.record
        self.version = event.version
        self._remember(event)
        for subscriber in self._subscribers:
            subscriber(event)
        if event.previous is not None:
            event.previous.cool()
        if event.type == DELETED:
            event.record.cool()
        if self._events > self._retained + self._retained // 4 or self._bytes > self._most_bytes:
            self._trim()

    def _remember(self, event: Event) -> None:
        self._history.setdefault(event.record.key.resource, []).append(event)
        self._events += 1
        self._bytes += len(event.record.body)

    def _trim(self) -> None:
        """Keeps the newest events: as many as may be, and half of the bytes, so that it is not soon again."""
        newest = sorted((e for events in self._history.values() for e in events), key=lambda e: -e.version)
        room = self._most_bytes // 2 if self._bytes > self._most_bytes else self._bytes
        for count, event in enumerate(newest):
            room -= len(event.record.body)
            if count >= self._retained or (room < 0 and count):
                self.compact(event.version)
                return

    def compact(self, oldest: int | None = None) -> None:
        """Forgets the history up to and including *oldest* (None: all of it)."""
        self.compacted = self.version if oldest is None else oldest
        for resource, events in list(self._history.items()):
            kept = events[bisect_right(events, self.compacted, key=lambda e: e.version) :]
            gone = events[: len(events) - len(kept)]
            self._events -= len(gone)
            self._bytes -= sum(len(e.record.body) for e in gone)
            self._history[resource] = kept
        if self._journal is not None:
            self._journal.trim(self.compacted, self.version)

    def since(self, resource: str, version: int) -> list[Event]:
        """Events after *version*, oldest first; the caller has checked it against `compacted`."""
        events = self._history.get(resource, [])
        return events[bisect_right(events, version, key=lambda e: e.version) :]

    def at(self, resource: str, version: int, namespace: str = "") -> list[Record]:
        """The list as it was at *version*, rebuilt by undoing what came after."""
        held = dict(self._objects.get(resource, {}))
        for event in reversed(self.since(resource, version)):
            if event.previous is None:
                held.pop(event.record.key, None)
            else:
                held[event.record.key] = event.previous
        chosen = [r for r in held.values() if not namespace or r.key.namespace == namespace]
        return sorted(chosen, key=lambda r: r.key.place)
