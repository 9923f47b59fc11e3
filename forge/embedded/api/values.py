"""The values that every part of the API hands to the next: keys, records and events.

A record is one object at one version, held as the JSON bytes that are served; its decoded form is
made on demand and shared, so nobody may change it. `copy` gives a document of the caller's own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

Json = dict[str, Any]

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"

encode = msgspec.json.encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Key(NamedTuple):
    """resource: `plural.group`, `plural` for the core group. namespace: empty for the cluster."""

    resource: str
    namespace: str
    name: str

    @property
    def place(self) -> str:
        """Sorts objects as the real store does: by the path of the key, not by its parts."""
        return f"{self.namespace}/{self.name}"


class Record:
    """One object at one version; body is the JSON as stored. Never changed once made."""

    __slots__ = ("_object", "body", "key", "version", "views")

    def __init__(self, key: Key, version: int, body: bytes, document: Json | None = None) -> None:
        self.key = key
        self.version = version
        self.body = body
        self._object = document
        self.views: dict[str, tuple[object, Record]] | None = None

    @property
    def object(self) -> Json:
        """The decoded object, shared: read only."""
        if self._object is None:
            self._object = _decode(self.body)
        return self._object

    def copy(self) -> Json:
        """A decoded object of the caller's own."""
        return _decode(self.body)

    def cool(self) -> None:
        """Forgets the decoded form: history is kept as bytes only."""
        self._object = None
        self.views = None


class Event:
    """One change. record: the object after it (as it was last, for DELETED); previous: before it.

    frames: encoded forms made once and shared by all watchers that want the same.
    """

    __slots__ = ("frames", "previous", "record", "type", "version")

    def __init__(self, type_: str, record: Record, previous: Record | None) -> None:
        self.type = type_
        self.record = record
        self.previous = previous
        self.version = record.version
        self.frames: dict[object, bytes] = {}


def dig(document: Any, *path: str) -> Any:
    """The value at *path* below *document*; None where a step is missing or no mapping."""
    for step in path:
        if not isinstance(document, dict):
            return None
        document = document.get(step)
    return document
