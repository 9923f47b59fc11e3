"""The environments of this user on this host: one small file each, from the first action of `up` to the
end of `down`. It is how they are found again when nobody knows their folder, or the folder is gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from forge.state.lock import host_directory


@dataclass(frozen=True, slots=True)
class Entry:
    """environment, environment_id: as in Owner. state_dir, config: absolute paths. runtime: `docker` or
    `embedded`."""

    environment: str
    environment_id: str
    state_dir: str
    config: str
    runtime: str


def register(entry: Entry) -> None:
    """Notes it. A failure costs its being found later, nothing else."""
    if _read(_file(entry.environment_id)) == entry:
        return
    with suppress(OSError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = folder / f".{entry.environment_id}.{os.getpid()}.new"
        fresh.write_text(json.dumps(asdict(entry)), encoding="utf-8")
        fresh.replace(_file(entry.environment_id))


def forget(environment_id: str) -> None:
    """Once nothing of it is left. One that is not there is a success."""
    with suppress(OSError):
        _file(environment_id).unlink()
    with suppress(OSError):
        _folder().rmdir()


def entries() -> tuple[Entry, ...]:
    """All that are noted, by name. What cannot be read is left out."""
    return tuple(sorted(_entries(), key=lambda e: (e.environment, e.environment_id)))


def _entries() -> Iterator[Entry]:
    folder = _folder()
    for file in folder.glob("*.json") if folder.is_dir() else ():
        entry = _read(file)
        if entry is not None:
            yield entry


def _folder() -> Path:
    return host_directory() / "environments"


def _file(environment_id: str) -> Path:
    return _folder() / f"{environment_id}.json"


def _read(file: Path) -> Entry | None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Entry(**{name: str(value) for name, value in found.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
