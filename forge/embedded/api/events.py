"""Events in their two groups: core/v1 and events.k8s.io/v1 name the same members differently."""

from __future__ import annotations

from forge.embedded.api.values import Json

# (core name, events.k8s.io name)
_RENAMED = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)


def to_events_group(document: Json) -> Json:
    """A core Event as events.k8s.io/v1 serves it."""
    renamed = _rename(document, "events.k8s.io/v1", dict(_RENAMED))
    return {k: v for k, v in renamed.items() if v or k not in ("reportingController", "reportingInstance")}


def to_core(document: Json) -> Json:
    """An events.k8s.io/v1 Event as it is stored."""
    return _rename(document, "v1", {other: core for core, other in _RENAMED})


def _rename(document: Json, api_version: str, names: dict[str, str]) -> Json:
    renamed = {names.get(key, key): value for key, value in document.items()}
    renamed["apiVersion"] = api_version
    return renamed
