"""The table columns of pods: their status is a summary of many fields, in an order of its own."""

from __future__ import annotations

from datetime import datetime

from forge.embedded.api.printers import NONE, Column, age, age_column, at, name_column
from forge.embedded.api.values import Json, dig


def _containers(o: Json) -> list[Json]:
    return list(dig(o, "status", "containerStatuses") or [])


def _ready(o: Json, _: datetime) -> str:
    ready = sum(1 for c in _containers(o) if c.get("ready"))
    return f"{ready}/{len(dig(o, 'spec', 'containers') or [])}"


def status_of(o: Json, _: datetime) -> str:
    """Why a pod is as it is, the most telling fact first."""
    said = str(dig(o, "status", "reason") or dig(o, "status", "phase") or "")
    starting = "" if _holds(o, "Initialized") else _initializing(o)
    said = starting or _running(o, said)
    if dig(o, "metadata", "deletionTimestamp"):
        return "Unknown" if dig(o, "status", "reason") == "NodeLost" else "Terminating"
    return said


def _initializing(o: Json) -> str:
    wanted = dig(o, "spec", "initContainers") or []
    for index, container in enumerate(dig(o, "status", "initContainerStatuses") or []):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode") == 0:
            continue
        if ended is not None:
            return f"Init:{_ended(ended)}"
        if waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(wanted)}"
    return ""


def _running(o: Json, said: str) -> str:
    running = False
    for container in reversed(_containers(o)):
        state = container.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            said = str(waiting["reason"])
        elif ended is not None:
            said = _ended(ended)
        elif container.get("ready") and state.get("running") is not None:
            running = True
    if said == "Completed" and running:
        return "Running" if _is_ready(o) else "NotReady"
    return said


def _ended(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _is_ready(o: Json) -> bool:
    return _holds(o, "Ready")


def _holds(o: Json, condition: str) -> bool:
    conditions = dig(o, "status", "conditions") or []
    return any(c.get("type") == condition and c.get("status") == "True" for c in conditions)


def _restarts(o: Json, now: datetime) -> str:
    statuses = _containers(o)
    total = sum(int(c.get("restartCount", 0)) for c in statuses)
    last = max((dig(c, "lastState", "terminated", "finishedAt") or "" for c in statuses), default="")
    return f"{total} ({age(last, now)} ago)" if total and last else str(total)


def _gates(o: Json, _: datetime) -> str:
    wanted = [g.get("conditionType") for g in dig(o, "spec", "readinessGates") or []]
    if not wanted:
        return NONE
    conditions = {c.get("type"): c.get("status") for c in dig(o, "status", "conditions") or []}
    return f"{sum(1 for w in wanted if conditions.get(w) == 'True')}/{len(wanted)}"


COLUMNS = (
    name_column(),
    Column("Ready", _ready, said="The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", status_of, said="The aggregate status of the containers in this pod."),
    Column(
        "Restarts",
        _restarts,
        said="The number of times the containers in this pod have been restarted and when the last container "
        "in this pod has restarted.",
    ),
    age_column(),
    Column("IP", at("status", "podIP", otherwise=NONE), said="core.v1.PodStatus#podIP", priority=1),
    Column("Node", at("spec", "nodeName", otherwise=NONE), said="core.v1.PodSpec#nodeName", priority=1),
    Column(
        "Nominated Node",
        at("status", "nominatedNodeName", otherwise=NONE),
        said="core.v1.PodStatus#nominatedNodeName",
        priority=1,
    ),
    Column("Readiness Gates", _gates, said="core.v1.PodSpec#readinessGates", priority=1),
)
