"""Where the node's stand-ins keep what they share. /var is a volume: it outlives a restart."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

STATE = Path("/var/lib/forge")
ORDER = STATE / "order.json"
CLUSTER = STATE / "cluster"
LOADED = STATE / "images.json"
IMAGES = Path("/kind/images.json")
ADMIN = Path("/etc/kubernetes/admin.conf")
LOGS = Path("/var/log")
PORT = 6443


def read(path: Path) -> Any:
    """The JSON of a file; None where there is none."""
    return json.loads(path.read_text()) if path.exists() else None


def write(path: Path, value: Any) -> None:
    """Puts JSON there at once: a reader sees all of it or what was before."""
    replace(path, json.dumps(value))


def replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.rename(path)
