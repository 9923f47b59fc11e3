"""A request's path in the one form conditions and routes compare: what a backend would make of it.

`//admin`, `/x/../admin`, `/%61dmin` and `/admin;v=1` must not be ways round a rule for `/admin`. The request
itself is sent on as it came; only the comparison uses this form.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

_UNUSUAL = re.compile(rb"%|//|/\.|;|\\|[^\x21-\x7e]")
_SLASHES = re.compile(rb"[/\\]+")


def normalise(path: bytes) -> bytes:
    """Percent-decoded until nothing changes (at most three times), parameters off, slashes merged, dots
    resolved."""
    if _UNUSUAL.search(path) is None:
        return path
    for _ in range(3):
        decoded = unquote_to_bytes(path)
        if decoded == path:
            break
        path = decoded
    segments: list[bytes] = []
    parts = _SLASHES.sub(b"/", path).split(b"/")
    for part in parts:
        segment = part.partition(b";")[0]
        if segment == b"..":
            if len(segments) > 1:
                segments.pop()
        elif segment != b".":
            segments.append(segment)
    if parts[-1] in (b".", b".."):
        segments.append(b"")
    return b"/".join(segments) or b"/"
