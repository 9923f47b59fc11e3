"""When and how a container ended, of the times an engine remembers (its last 256 events, of all).

What an engine says of a container that runs again has forgotten its last exit code, and its log does
not tell one run from the next; its events do.
"""

from __future__ import annotations

import json
import time

from forge.host.engine import Engine
from forge.host.unix_http import Query, Request

End = tuple[int, int]
"""(Unix nanoseconds, exit code). All of a run's log lines are older than its end."""


def ends(engine: Engine, identity: str) -> tuple[End, ...]:
    """Oldest first; empty where none is remembered."""
    filters = {"container": [identity], "event": ["die"]}
    query: Query = {"since": "0", "until": f"{time.time_ns() / 1e9:.9f}", "filters": filters}
    with engine.stream(Request("GET", "/events", query)) as pieces:
        text = b"".join(pieces)
    events = (json.loads(line) for line in text.splitlines() if line.strip())
    return tuple(sorted((int(e["timeNano"]), int(e["Actor"]["Attributes"]["exitCode"])) for e in events))
