"""The wait until a cluster is ready: its API, its nodes, and what pods need of their namespace.

kind's own `--wait` looks at the control planes only, and leaves before a ServiceAccount exists, so that the
first pod is refused. Looks begin at a few milliseconds, since an embedded cluster needs no more, and slow
down to four a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forge.errors import ForgeError, Interrupted, Unhealthy
from forge.host.clusters.api import Api, Silent, Stranger
from forge.plan.ports import Cancel, Progress

_FIRST_S = 0.01
_SLOWEST_S = 0.25
TIMEOUT_S = 300.0
"""A KIND cluster of several nodes takes one to two minutes on a small machine."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """nodes: that must be Ready; 0 where there is no CNI to make them so."""

    name: str
    nodes: int


def wait(
    api: Api,
    wanted: Wanted,
    progress: Progress,
    cancel: Cancel,
    alive: Callable[[], ForgeError | None] = lambda: None,
    timeout_s: float = TIMEOUT_S,
) -> None:
    """Returns once it is ready. alive: gives the error where waiting has no sense any more.
    Raises that, Interrupted when cancelled, Unhealthy FG0703 naming what was missing."""
    until, pause, said = time.monotonic() + timeout_s, _FIRST_S, ""
    while missing := look(api, wanted):
        if error := alive():
            raise error
        if time.monotonic() > until:
            raise _late(wanted.name, missing, timeout_s)
        if missing != said and pause >= _SLOWEST_S:
            progress(f"waiting for {missing}")
            said = missing
        if cancel.wait(pause):
            raise stopped(wanted.name)
        pause = min(_SLOWEST_S, pause * 1.5)


def look(api: Api, wanted: Wanted) -> str:
    """What is still missing, in words; empty for nothing."""
    try:
        if api.get("/readyz")[0] != 200:
            return "its API to become ready"
        missing = _nodes(api.get("/api/v1/nodes")[1], wanted.nodes)
        if missing:
            return missing
        account = api.get("/api/v1/namespaces/default/serviceaccounts/default")[0]
        return "" if account == 200 else "the default ServiceAccount"
    except (Silent, Stranger) as error:
        return f"its API to answer ({error})"


def _nodes(listed: Any, wanted: int) -> str:
    found = (listed or {}).get("items") or []
    unready = [n["metadata"]["name"] for n in found if not _is_ready(n)]
    if wanted == 0:
        return ""
    if len(found) < wanted:
        return f"its nodes ({len(found)} of {wanted} are there)"
    return f"node {', '.join(sorted(unready))} to become Ready" if unready else ""


def _is_ready(node: Any) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def stopped(name: str) -> Interrupted:
    return Interrupted("FG0704", f"making cluster {name!r} was stopped", signal_number=2)


def _late(name: str, missing: str, timeout_s: float) -> Unhealthy:
    return Unhealthy(
        "FG0703",
        f"cluster {name!r} did not become ready in {timeout_s:.0f} s",
        why=f"it still waits for {missing}",
        hint="look at its nodes: praxis-forge cluster kubectl " + name + " -- get nodes,pods -A",
    )
