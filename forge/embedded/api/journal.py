"""The store's memory on disk: SQLite in WAL mode, one transaction a write.

A write is acknowledged after its commit. `synchronous=NORMAL` keeps every commit over the death of
this process, which is what a lab must survive; a power cut may take the last moments, which for a
lab costs a re-apply (FULL measured at a twentieth of the speed).
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from forge.embedded.api import status
from forge.embedded.api.values import Event, Key, Record

log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
  resource TEXT, namespace TEXT, name TEXT, version INTEGER NOT NULL, body BLOB NOT NULL,
  PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  version INTEGER PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL,
  name TEXT NOT NULL, body BLOB NOT NULL, before_version INTEGER, before BLOB);
CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""


class Journal:
    """One database file, readable to its owner alone: Secrets are in it. Only one process may hold it at
    a time."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        path.chmod(0o600)  # SQLite gives its other files the same
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_TABLES)

    def write(self, event: Event) -> None:
        """Object and event in one transaction; returns once both are committed.

        Raises ApiError (500) where the disk takes no more; nothing is changed then.
        """
        try:
            self._commit(event)
        except sqlite3.Error as error:
            log.error("the store takes no write", extra={"reason": str(error)})
            raise status.internal(f"the cluster's store takes no write: {error}") from error

    def _commit(self, event: Event) -> None:
        key, record, before = event.record.key, event.record, event.previous
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if event.type == "DELETED":
                self._db.execute("DELETE FROM objects WHERE resource=? AND namespace=? AND name=?", key)
            else:
                row = (*key, record.version, record.body)
                self._db.execute("INSERT OR REPLACE INTO objects VALUES (?,?,?,?,?)", row)
            old = (before.version, before.body) if before else (None, None)
            self._db.execute(
                "INSERT INTO events VALUES (?,?,?,?,?,?,?,?)",
                (record.version, event.type, *key, record.body, *old),
            )

    def trim(self, oldest: int, version: int) -> None:
        """Forgets events up to and including *oldest*; remembers the counter."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM events WHERE version<=?", (oldest,))
            marks = [("compacted", oldest), ("version", version)]
            self._db.executemany("INSERT OR REPLACE INTO marks VALUES (?,?)", marks)

    def objects(self) -> Iterator[Record]:
        for resource, namespace, name, version, body in self._db.execute("SELECT * FROM objects"):
            yield Record(Key(resource, namespace, name), version, body)

    def events(self) -> Iterator[Event]:
        """Oldest first."""
        for row in self._db.execute("SELECT * FROM events ORDER BY version"):
            version, type_, resource, namespace, name, body, before_version, before = row
            key = Key(resource, namespace, name)
            previous = Record(key, before_version, before) if before is not None else None
            yield Event(type_, Record(key, version, body), previous)

    def mark(self, name: str) -> int:
        """A remembered number; 0 when it was never written."""
        row = self._db.execute("SELECT value FROM marks WHERE name=?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        self._db.close()
