"""What is on disk of each process, so that a new supervisor knows what a dead one had.

    <folder>/<id>/record.json     how it stood; no argv, no environment
    <folder>/<id>/00000001.log    its logs, see logs.py

A record is written before anything else is made for the process and after each change, whole or not at
all. A folder without one belongs to a creation that never began, and is cleared away.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from forge.embedded.process import procfs
from forge.embedded.process.spec import Phase, Status, plain

_FILE = "record.json"


@dataclass(frozen=True, slots=True)
class Record:
    """status: as it last was. root: where its mounts are. scope: of the supervisor that wrote it; a
    copied folder has another. boot: of the machine when it was written."""

    status: Status
    root: str
    scope: str
    boot: str


def write(folder: Path, record: Record) -> None:
    """Replaces the record of its id. Raises OSError."""
    place = folder / record.status.id
    kept = {"root": record.root, "scope": record.scope, "boot": record.boot}
    text = json.dumps({"status": plain(record.status), **kept})
    fresh = place / f"{_FILE}.new"
    fresh.touch(mode=0o600)
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(place / _FILE)


def load(folder: Path) -> Iterator[Record]:
    """All records that can be read, by id. A missing folder has none. Changes nothing."""
    try:
        places = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    for place in places:
        record = _read(place / _FILE)
        if record is not None and record.status.id == place.name:
            yield record


def after_death(status: Status) -> Status:
    """How a process stands whose supervisor is gone: what ran then is broken, what had ended has."""
    if status.phase not in (Phase.RUNNING, Phase.STARTING):
        return replace(status, pid=None, ticks=None, ports=())
    return replace(
        status, phase=Phase.BROKEN, pid=None, ticks=None, ports=(), detail="its supervisor ended without it"
    )


def recover(folder: Path, scope: str) -> list[Record]:
    """The records a dead supervisor left, after ending every process it left. For a supervisor that
    has just begun, and is the only one on this folder."""
    records = list(load(folder))
    own = [record for record in records if record.scope == scope]
    known = [procfs.Identity(s.pid, s.ticks, r.boot) for r in own if (s := r.status).pid and s.ticks]
    procfs.kill_all(f"{scope}/", known)
    kept = {record.status.id for record in records}
    for place in folder.iterdir():
        if place.name not in kept:
            shutil.rmtree(place, ignore_errors=True)
    found = [replace(record, status=after_death(record.status), scope=scope) for record in records]
    for record in found:
        write(folder, record)
    return found


def _read(file: Path) -> Record | None:
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        return Record(Status.parse(raw["status"]), raw["root"], raw["scope"], raw["boot"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
