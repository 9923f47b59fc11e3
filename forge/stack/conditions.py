"""What a `wait` waits for, and whether an object is there yet, may get there, or never will. Pure.

    exists  deleted                      whether it is there
    available  ready  complete  X=False  a condition by its type, in any spelling; True unless said
    jsonpath={.status.phase}=Running     a value; without a value, that there is one

As in kubectl a condition counts only once the controller has seen the object as it is now. Workloads
without conditions (StatefulSet, DaemonSet, ReplicaSet) are available when their replicas are. LOST is
what waiting does not heal: an image that cannot be had, a program that keeps crashing, a failed Job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forge.plan.lab_ports import Object
from forge.stack.jsonpath import JsonPath, JsonPathBroken, parse

HOPELESS = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)
"""Reasons of a waiting container that stay until somebody mends something."""
CRASHES = 2
"""Restarts from which on a crashing container counts as lost: once is often a program that came up
before what it needs, and Kubernetes waits ten seconds longer each time."""


class ConditionBroken(ValueError):
    """A condition that cannot be read."""


class Standing(StrEnum):
    WAITING = "waiting"
    HOLDS = "holds"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Verdict:
    """reason: one line on what it waits for, or why it is lost. pod: name of the pod to blame, if one is."""

    standing: Standing
    reason: str = ""
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """What is waited for. type: `exists`, `deleted`, `jsonpath`, or of a condition, in small letters.
    value: in small letters for a condition; None where any will do. path: of a jsonpath."""

    type: str
    value: str | None = None
    path: JsonPath | None = None

    @property
    def is_workload(self) -> bool:
        """Whether pods decide it, and their state can end the wait."""
        return self.type in ("available", "ready", "complete") and self.value == "true"


def parse_condition(text: str) -> Condition:
    """The condition a step names. Raises ConditionBroken."""
    text = text.strip()
    word = text.lower()
    if word in ("exists", "create", "deleted", "delete"):
        return Condition("deleted" if word.startswith("delete") else "exists")
    if word.startswith("jsonpath="):
        return _jsonpath(text[len("jsonpath=") :])
    found = re.fullmatch(r"(?:condition=)?([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)(?:=([A-Za-z]+))?", text)
    if found is None:
        raise ConditionBroken("not a condition: exists, deleted, a type such as available, or jsonpath={...}")
    return Condition(found[1].lower(), (found[3] or "true").lower())


def _jsonpath(text: str) -> Condition:
    """`{...}=value`, quoted or not, as a shell would have taken the quotes away."""
    end = text.rfind("}") + 1 if "{" in text else text.rfind("]") + 1
    sign = text.find("=", end)
    path, value = (text, None) if sign < 0 else (text[:sign], text[sign + 1 :])
    try:
        return Condition("jsonpath", None if value is None else _bare(value), parse(_bare(path)))
    except JsonPathBroken as broken:
        raise ConditionBroken(f"the path cannot be read: {broken}") from None


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def judge(condition: Condition, objects: Sequence[Object], pods: Iterable[Object] = ()) -> Verdict:
    """How objects stand: the worst of them decides. pods: those of the workload as it is now."""
    if condition.type == "deleted":
        left = ", ".join(map(_title, objects[:3]))
        return Verdict(Standing.WAITING, f"{left} is still there") if objects else Verdict(Standing.HOLDS)
    if not objects:
        return Verdict(Standing.WAITING, "it is not there yet")
    if condition.type == "exists":
        return Verdict(Standing.HOLDS)
    verdicts = [_of(condition, thing) for thing in objects]
    for standing in (Standing.LOST, Standing.WAITING):
        for verdict in verdicts:
            if verdict.standing is standing:
                return _blamed(verdict, condition, pods)
    return Verdict(Standing.HOLDS)


def _blamed(verdict: Verdict, condition: Condition, pods: Iterable[Object]) -> Verdict:
    """A verdict with what the pods say: the first that is lost ends the wait, one that waits explains it."""
    if not condition.is_workload or verdict.standing is Standing.HOLDS:
        return verdict
    waiting = ""
    for pod in pods:
        found = _of_pod(pod)
        if found.standing is Standing.LOST:
            return found
        if found.standing is Standing.WAITING and not waiting:
            waiting = found.reason
    if verdict.standing is Standing.LOST:
        return verdict
    return Verdict(Standing.WAITING, f"{verdict.reason}; {waiting}" if waiting else verdict.reason)


def _of(condition: Condition, thing: Object) -> Verdict:
    if condition.path is not None:
        return _of_value(condition.path, condition.value, thing)
    lost = _lost(condition, thing)
    if lost:
        return Verdict(Standing.LOST, lost)
    name = _title(thing)
    status = _mapping(thing.get("status"))
    generation = _mapping(thing.get("metadata")).get("generation")
    if _is_behind(status, generation):
        return Verdict(Standing.WAITING, f"{name}: its last change is not taken up yet")
    found = _condition(status, condition.type)
    if found is None:
        return _of_counts(condition, thing, status)
    if _is_behind(found, generation):
        return Verdict(Standing.WAITING, f"{name}: {found['type']} is of an older state")
    if str(found.get("status", "")).lower() == condition.value:
        return Verdict(Standing.HOLDS)
    because = ": ".join(str(found[key]) for key in ("reason", "message") if found.get(key))
    return Verdict(
        Standing.WAITING,
        f"{name}: {found['type']} is {found.get('status')}" + (f" ({because})" if because else ""),
    )


def _of_value(path: JsonPath, value: str | None, thing: Object) -> Verdict:
    text = path.text(thing)
    if (text.strip() != "") if value is None else text == value:
        return Verdict(Standing.HOLDS)
    shown = f"it is {text[:80]!r}" if text else "it has no such value yet"
    return Verdict(
        Standing.WAITING, f"{_title(thing)}: {shown}" + (f", not {value!r}" if value is not None else "")
    )


def _of_counts(condition: Condition, thing: Object, status: Mapping[str, Any]) -> Verdict:
    """Workloads that say how many replicas are ready, and no more."""
    name = _title(thing)
    if condition.is_workload and thing.get("kind") in ("StatefulSet", "DaemonSet", "ReplicaSet"):
        wanted = status.get("desiredNumberScheduled", _mapping(thing.get("spec")).get("replicas", 1))
        ready = status.get("numberAvailable", status.get("readyReplicas", 0))
        if isinstance(wanted, int) and isinstance(ready, int) and "observedGeneration" in status:
            done = ready >= wanted
            return Verdict(
                Standing.HOLDS if done else Standing.WAITING, f"{name}: {ready} of {wanted} are ready"
            )
    return Verdict(Standing.WAITING, f"{name}: it has no condition {condition.type} yet")


def _lost(condition: Condition, thing: Object) -> str:
    """Why an object will never be in the condition by itself; empty where it may."""
    if not condition.is_workload:
        return ""
    status, kind = _mapping(thing.get("status")), thing.get("kind")
    if kind == "Deployment" and not _is_behind(status, _mapping(thing.get("metadata")).get("generation")):
        found = _condition(status, "progressing")
        if found is not None and found.get("reason") == "ProgressDeadlineExceeded":
            return f"{_title(thing)}: ProgressDeadlineExceeded: {found.get('message', '')}".rstrip(": ")
    if kind == "Job" and (found := _condition(status, "failed")) and found.get("status") == "True":
        return f"{_title(thing)} has failed: {found.get('reason', '')} {found.get('message', '')}".rstrip(
            ": "
        )
    if kind == "Pod":
        return _of_pod(thing).reason if _of_pod(thing).standing is Standing.LOST else ""
    return ""


def _of_pod(pod: Object) -> Verdict:
    name = str(_mapping(pod.get("metadata")).get("name", ""))
    status = _mapping(pod.get("status"))
    if _mapping(pod.get("metadata")).get("deletionTimestamp"):
        return Verdict(Standing.HOLDS)
    waiting = ""
    for container in (
        *_list(status.get("initContainerStatuses")),
        *_list(status.get("containerStatuses")),
    ):
        state = _mapping(_mapping(container).get("state"))
        held = _mapping(state.get("waiting"))
        reason, message = str(held.get("reason", "")), str(held.get("message", ""))
        if reason in HOPELESS:
            return Verdict(Standing.LOST, f"pod {name}: {reason}: {message}".rstrip(": "), name)
        if reason == "CrashLoopBackOff":
            count = container.get("restartCount", 0)
            ended = _ending(container)
            if isinstance(count, int) and count >= CRASHES:
                return Verdict(
                    Standing.LOST, f"pod {name}: CrashLoopBackOff: restarted {count} times{ended}", name
                )
            waiting = waiting or f"pod {name} crashed once{ended}"
        elif reason:
            waiting = waiting or f"pod {name}: {reason}"
    if status.get("phase") == "Failed":
        return Verdict(Standing.LOST, f"pod {name} has failed: {status.get('reason', '')}".rstrip(": "), name)
    scheduled = _condition(status, "podscheduled")
    if scheduled is not None and scheduled.get("status") == "False":
        waiting = waiting or f"pod {name} waits for a node: {scheduled.get('message', '')}".rstrip(": ")
    return Verdict(Standing.WAITING, waiting) if waiting else Verdict(Standing.HOLDS)


def _ending(container: Mapping[str, Any]) -> str:
    ended = _mapping(_mapping(container.get("lastState")).get("terminated"))
    code = ended.get("exitCode")
    return f", last with exit code {code}" if code is not None else ""


def current_pods(
    workload: Object, replica_sets: Iterable[Object], pods: Iterable[Object]
) -> tuple[Object, ...]:
    """The pods a workload's present template made, newest last: those of an older one may well be broken,
    which is why it was changed. pods: all that its selector finds."""
    kind = workload.get("kind")
    meta = _mapping(workload.get("metadata"))
    label, wanted = "", ""
    if kind == "Deployment":
        revision = _mapping(meta.get("annotations")).get(_REVISION)
        label = "pod-template-hash"
        for one in replica_sets:
            inner = _mapping(one.get("metadata"))
            if (
                _owned_by(inner, meta)
                and revision
                and _mapping(inner.get("annotations")).get(_REVISION) == revision
            ):
                wanted = str(_mapping(inner.get("labels")).get(label, ""))
        if not wanted:
            return ()
    elif kind == "StatefulSet":
        label = "controller-revision-hash"
        wanted = str(_mapping(workload.get("status")).get("updateRevision", ""))
    found = [
        pod
        for pod in pods
        if not wanted or _mapping(_mapping(pod.get("metadata")).get("labels")).get(label) == wanted
    ]
    return tuple(sorted(found, key=lambda pod: str(_mapping(pod.get("metadata")).get("creationTimestamp"))))


_REVISION = "deployment.kubernetes.io/revision"


def _owned_by(meta: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    return any(_mapping(ref).get("uid") == owner.get("uid") for ref in _list(meta.get("ownerReferences")))


def _is_behind(status: Mapping[str, Any], generation: object) -> bool:
    seen = status.get("observedGeneration")
    return isinstance(seen, int) and isinstance(generation, int) and seen < generation


def _condition(status: Mapping[str, Any], type_: str) -> Mapping[str, Any] | None:
    for one in _list(status.get("conditions")):
        found = _mapping(one)
        if str(found.get("type", "")).lower() == type_:
            return found
    return None


def _title(thing: Object) -> str:
    meta = _mapping(thing.get("metadata"))
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{thing.get('kind', 'object')} {where}{meta.get('name', '')}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
