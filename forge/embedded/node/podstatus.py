"""A pod's status out of its containers: phase and conditions as kubectl waits for them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge.embedded.api.values import Json, dig

_ORDER = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pod runs: the node's address and its own."""

    host: str
    address: str


def status(pod: Json, place: Place | None, initial: Sequence[Json], main: Sequence[Json], now: str) -> Json:
    """The whole status. initial, main: entries of the containers, in the order of the spec. place:
    None before the pod has one."""
    before: Json = pod.get("status") or {}
    phase_ = phase(pod, initial, main)
    whole: Json = {"phase": phase_, "conditions": _conditions(pod, place, initial, main, phase_, now)}
    if place is not None:
        whole |= {"hostIP": place.host, "hostIPs": [{"ip": place.host}]}
        whole |= {"podIP": place.address, "podIPs": [{"ip": place.address}]}
    whole["startTime"] = before.get("startTime") or now
    if initial:
        whole["initContainerStatuses"] = list(initial)
    whole["containerStatuses"] = list(main)
    whole["qosClass"] = before.get("qosClass", "BestEffort")
    return whole


def unschedulable(pod: Json, why: str, now: str) -> Json:
    """The status of a pod that the node does not take."""
    before: Json = pod.get("status") or {}
    refused = _condition("PodScheduled", "Unschedulable", why, before, now, holds=False)
    return {"phase": "Pending", "conditions": [refused], "qosClass": before.get("qosClass", "BestEffort")}


def phase(pod: Json, initial: Sequence[Json], main: Sequence[Json]) -> str:
    """As a kubelet's getPhase has it."""
    policy = dig(pod, "spec", "restartPolicy") or "Always"
    if policy == "Never" and any(_failed(entry) for entry in initial):
        return "Failed"
    if not _initialised(pod, initial):
        return "Pending"
    states = [entry["state"] for entry in main]
    if any("waiting" in s and not entry["lastState"] for s, entry in zip(states, main, strict=True)):
        return "Pending"
    if any("running" in s or "waiting" in s for s in states) or policy == "Always":
        return "Running"
    if all(s["terminated"]["exitCode"] == 0 for s in states):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _failed(entry: Json) -> bool:
    ended = entry["state"].get("terminated")
    return ended is not None and ended["exitCode"] != 0


def is_sidecar(container: Json) -> bool:
    """A container that initialises the pod by having started, and goes on beside the others."""
    return container.get("restartPolicy") == "Always"


def _initialised(pod: Json, initial: Sequence[Json]) -> bool:
    wanted = dig(pod, "spec", "initContainers") or []
    for container, entry in zip(wanted, initial, strict=True):
        ended = entry["state"].get("terminated")
        # A sidecar that ended before the pod did has done its part; until it is back it holds nobody up.
        begun = entry["started"] or ended is not None or entry["restartCount"] > 0
        if not (begun if is_sidecar(container) else ended is not None and not ended["exitCode"]):
            return False
    return True


def _conditions(
    pod: Json, place: Place | None, initial: Sequence[Json], main: Sequence[Json], phase_: str, now: str
) -> list[Json]:
    before: Json = pod.get("status") or {}
    unready = [entry["name"] for entry in main if not entry["ready"]]
    over = phase_ == "Succeeded"
    reason, message = "", ""
    if over:
        reason = "PodCompleted"
    elif unready:
        reason = "PodFailed" if phase_ == "Failed" else "ContainersNotReady"
        message = f"containers with unready status: [{' '.join(unready)}]"
    late = (
        [c["name"] for c in dig(pod, "spec", "initContainers") or []]
        if not _initialised(pod, initial)
        else []
    )
    kept = [c for c in before.get("conditions") or [] if c.get("type") not in _ORDER]
    gates = _gates(pod, kept)
    ready = not unready and not over and phase_ == "Running"
    return [
        *kept,
        _condition("PodReadyToStartContainers", "", "", before, now, holds=place is not None),
        _condition(
            "Initialized",
            "ContainersNotInitialized" if late else ("PodCompleted" if over else ""),
            f"containers with incomplete status: [{' '.join(late)}]" if late else "",
            before,
            now,
            holds=not late,
        ),
        _condition(
            "Ready",
            reason or ("ReadinessGatesNotReady" if gates else ""),
            message or gates,
            before,
            now,
            holds=ready and not gates,
        ),
        _condition("ContainersReady", reason, message, before, now, holds=ready),
        _condition("PodScheduled", "", "", before, now, holds=True),
    ]


def _gates(pod: Json, conditions: Sequence[Json]) -> str:
    """Which readiness gates of the pod are closed; empty when none is."""
    held = {c["type"] for c in conditions if c.get("status") == "True"}
    wanted = [g["conditionType"] for g in dig(pod, "spec", "readinessGates") or []]
    closed = [name for name in wanted if name not in held]
    return "; ".join(
        f'corresponding condition of pod readiness gate "{name}" does not exist.' for name in closed
    )


def _condition(kind: str, reason: str, message: str, before: Json, now: str, *, holds: bool) -> Json:
    """Its time is that of its last change of status."""
    word = "True" if holds else "False"
    old: Json = next((c for c in before.get("conditions") or [] if c.get("type") == kind), {})
    at = old.get("lastTransitionTime") if old.get("status") == word else None
    condition: Json = {"type": kind, "status": word, "lastProbeTime": None, "lastTransitionTime": at or now}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition
