"""The environment a process starts from, before its own: what the machine needs, nothing more.

A container does not see the caller's environment, and neither does a process here: tokens and proxies
of a shell stay in that shell. What is kept is where to find programs, how to write text and time, and
what an interpreter built elsewhere needs to load. Python writes its lines at once, as in most images.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_KEPT = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "LD_LIBRARY_PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base(outer: Mapping[str, str], programs: str) -> dict[str, str]:
    """A new environment out of the caller's. programs: the folder that comes first on PATH."""
    kept = {key: value for key, value in outer.items() if key in _KEPT or key.startswith("LC_")}
    path = outer.get("PATH") or _DEFAULT_PATH
    return {**kept, "PATH": f"{programs}{os.pathsep}{path}", "PYTHONUNBUFFERED": "1"}
