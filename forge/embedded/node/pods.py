"""What controllers ask of pods: ready, available, finished. Pure."""

from __future__ import annotations

import copy
from datetime import UTC, datetime

from forge.embedded.api.values import Json, dig


def is_finished(pod: Json) -> bool:
    return dig(pod, "status", "phase") in ("Succeeded", "Failed")


def is_ready(pod: Json) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def condition(document: Json, kind: str) -> Json:
    """The condition of that type; empty when there is none."""
    found: Json = next((c for c in dig(document, "status", "conditions") or [] if c.get("type") == kind), {})
    return found


def available_in_s(pod: Json, minimum_s: int, now: datetime) -> float | None:
    """Seconds until it has been ready long enough: 0 when it has, None while it is not ready."""
    if not is_ready(pod):
        return None
    if not minimum_s:
        return 0
    since = instant(condition(pod, "Ready").get("lastTransitionTime"))
    return max(0.0, minimum_s - (now - since).total_seconds()) if since else 0


def instant(text: str | None) -> datetime | None:
    """A time of an object's; None when it has none."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) if text else None


def deep(document: Json) -> Json:
    """A copy of the caller's own."""
    return copy.deepcopy(document)
