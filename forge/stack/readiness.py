"""Whether an object that Forge applied does what it is for: running, bound, addressed, or there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from forge.plan.lab_ports import Object, ObjectRef
from forge.plan.values import Key
from forge.stack.conditions import Standing, Verdict, judge, parse_condition


class Readiness(StrEnum):
    """THERE: it is there, and there is nothing more to say of its kind. HELD: down on purpose."""

    READY = "ready"
    THERE = "there"
    WAITING = "waiting"
    FAILED = "failed"
    GONE = "gone"
    HELD = "held down"

    @property
    def is_well(self) -> bool:
        return self in (Readiness.READY, Readiness.THERE)


@dataclass(frozen=True, slots=True)
class ObjectLine:
    """One object of a step, as it is now. reason: one line, empty where all is well."""

    step: Key
    ref: ObjectRef
    readiness: Readiness
    reason: str = ""


_AWAITED: Final = {
    "Deployment": "available",
    "StatefulSet": "available",
    "DaemonSet": "available",
    "ReplicaSet": "available",
    "Job": "complete",
    "Pod": "ready",
    "CustomResourceDefinition": "established",
    "APIService": "available",
}
"""kind -> the condition that says it does what it is for."""


def with_pods(ref: ObjectRef) -> bool:
    """Whether its pods tell why it is not ready."""
    return ref.kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")


def readiness(thing: Object | None, pods: Iterable[Object] = ()) -> tuple[Readiness, str]:
    """How it stands, and one line on why where it is not well."""
    if thing is None:
        return Readiness.GONE, "it is not there any more"
    if (thing.get("metadata") or {}).get("deletionTimestamp"):
        return Readiness.WAITING, "it is being deleted"
    kind = str(thing.get("kind"))
    if kind in _AWAITED:
        return _of(judge(parse_condition(_AWAITED[kind]), [thing], pods))
    missing = _missing(kind, thing)
    if missing is None:
        return Readiness.THERE, ""
    return (Readiness.WAITING, missing) if missing else (Readiness.READY, "")


def _of(verdict: Verdict) -> tuple[Readiness, str]:
    match verdict.standing:
        case Standing.HOLDS:
            return Readiness.READY, ""
        case Standing.LOST:
            return Readiness.FAILED, verdict.reason
        case Standing.WAITING:
            return Readiness.WAITING, verdict.reason


def _missing(kind: str, thing: Object) -> str | None:
    """What a kind without conditions still waits for; empty for nothing, None where nobody can say."""
    spec, status = _mapping(thing.get("spec")), _mapping(thing.get("status"))
    match kind:
        case "Service" if spec.get("type") == "LoadBalancer":
            has = bool(_mapping(status.get("loadBalancer")).get("ingress"))
            return "" if has else "it has no address of its load balancer yet"
        case "PersistentVolumeClaim":
            return "" if status.get("phase") == "Bound" else f"it is {status.get('phase') or 'not bound'}"
        case "Namespace":
            return "" if status.get("phase", "Active") == "Active" else f"it is {status['phase']}"
        case _:
            return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
