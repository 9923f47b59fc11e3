"""Where the container engine listens: as the docker command would find it.

    DOCKER_HOST, else the context of DOCKER_CONTEXT or `docker context use`, else /var/run/docker.sock

Only unix sockets: a lab mounts directories of this machine, which an engine elsewhere cannot see.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from forge.errors import ToolMissing

DEFAULT = "/var/run/docker.sock"


def engine_socket(environ: Mapping[str, str], home: Path) -> str:
    """The path of the engine's socket. Raises ToolMissing FG0303 where it is not a unix socket."""
    config = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    address = environ.get("DOCKER_HOST") or _context_address(environ, config)
    if not address:
        return DEFAULT
    scheme, _, path = address.partition("://")
    if scheme != "unix" or not path:
        raise ToolMissing(
            "FG0303",
            f"cannot use the container engine at {address}",
            why="a lab mounts directories of this machine, so its engine must be on this machine too",
            hint="unset DOCKER_HOST or choose another docker context, or use --runtime embedded",
            changed=False,
        )
    return path


def _context_address(environ: Mapping[str, str], config: Path) -> str:
    name = environ.get("DOCKER_CONTEXT") or _field(config / "config.json", "currentContext")
    if name in ("", "default"):
        return ""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return _field(config / "contexts" / "meta" / digest / "meta.json", "Endpoints", "docker", "Host")


def _field(file: Path, *names: str) -> str:
    """A string in a JSON file; empty where the file or the field is missing."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        for name in names:
            found = found[name]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found if isinstance(found, str) else ""
