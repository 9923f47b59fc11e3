"""Faults: what is held down on purpose, until somebody restores it or `up` does.

    fault stop NAME   ends it as an operator would;   fault kill NAME   SIGKILL, as a crash
    NAME              web, service/web                          a service
                      east, cluster/east                        a whole cluster
                      east/deployment/sim, east/shop/deploy/sim a workload, by default in any namespace

A fault is in the state before anything is done, with all that ending it takes; so one that was cut
off half way is restored like any other, and restoring what was never stopped changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from forge.plan.values import Change, Desired, Key, Need, Verb

KIND: Final = "fault"
"""Of the key of a workload's fault in a plan: ending it is a step of its own."""


class How(StrEnum):
    STOP = "stop"
    KILL = "kill"


class Part(StrEnum):
    """What of a lab a name means. EITHER: a service or a cluster, whichever has that name."""

    SERVICE = "service"
    CLUSTER = "cluster"
    WORKLOAD = "workload"
    EITHER = "either"


KINDS: Final = {
    "Deployment": ("deployment", "deployments", "deploy"),
    "StatefulSet": ("statefulset", "statefulsets", "sts"),
    "ReplicaSet": ("replicaset", "replicasets", "rs"),
}
"""Kinds that have a scale, all in apps/v1, with the words people type."""
API_VERSION: Final = "apps/v1"


@dataclass(frozen=True, slots=True)
class Target:
    """What is meant. cluster, kind, namespace: of a workload; namespace None: any that has it."""

    part: Part
    name: str
    cluster: str = ""
    kind: str = ""
    namespace: str | None = None

    def __str__(self) -> str:
        """As `parse` reads it, and the state keeps it."""
        if self.part is Part.WORKLOAD:
            where = () if self.namespace is None else (self.namespace,)
            return "/".join((self.cluster, *where, self.kind.lower(), self.name))
        return self.name if self.part is Part.EITHER else f"{self.part}/{self.name}"


def parse(text: str) -> Target:
    """What a name means. Raises ValueError saying what is wrong with it."""
    match text.split("/"):
        case parts if not all(parts):
            raise ValueError("a part of it is empty")
        case [name]:
            return Target(Part.EITHER, name)
        case ["service" | "cluster" as part, name]:
            return Target(Part(part), name)
        case [cluster, kind, name]:
            return Target(Part.WORKLOAD, name, cluster, _kind(kind))
        case [cluster, namespace, kind, name]:
            return Target(Part.WORKLOAD, name, cluster, _kind(kind), namespace)
        case _:
            raise ValueError("write SERVICE, CLUSTER, CLUSTER/KIND/NAME or CLUSTER/NAMESPACE/KIND/NAME")


def _kind(word: str) -> str:
    for kind, words in KINDS.items():
        if word.lower() in words:
            return kind
    raise ValueError(
        f"{word!r} is no kind that can be scaled; it is one of {', '.join(map(str.lower, KINDS))}"
    )


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is held down. name: a Target as text, a workload's with its namespace. at: Unix
    seconds. Of a workload, replicas: how many it had; uid, generation: the object before it was scaled."""

    name: str
    how: How
    at: float
    replicas: int = 0
    uid: str = ""
    generation: int = 0

    @property
    def target(self) -> Target:
        return parse(self.name)

    def __str__(self) -> str:
        return f"fault {self.how} {self.name}"

    @property
    def key(self) -> Key:
        """What a plan does to end it: the service or the cluster is started; a workload is scaled."""
        target = self.target
        return Key(KIND, self.name) if target.part is Part.WORKLOAD else Key(str(target.part), target.name)

    @property
    def cause(self) -> str:
        """Why `up` does something about it."""
        return f"{self} is ended"


def added(faults: Iterable[Fault], new: Fault) -> tuple[Fault, ...]:
    """With one more. What was held down already keeps what ending it takes: a workload that is
    stopped twice had as many replicas as before the first time."""
    kept = {fault.name: fault for fault in faults}
    old = kept.get(new.name)
    if old is not None and old.uid == new.uid:
        new = replace(old, how=new.how)
    return (*(f for f in kept.values() if f.name != new.name), new)


def without(faults: Iterable[Fault], name: str) -> tuple[Fault, ...]:
    return tuple(fault for fault in faults if fault.name != name)


def meant(faults: Iterable[Fault], wanted: Target) -> tuple[Fault, ...]:
    """Those that a typed name means: one without a namespace means any, one without a part both."""
    return tuple(fault for fault in faults if _is_meant(fault.target, wanted))


def _is_meant(held: Target, wanted: Target) -> bool:
    if wanted.part is Part.EITHER:
        return held.part in (Part.SERVICE, Part.CLUSTER) and held.name == wanted.name
    same = (held.part, held.name, held.cluster, held.kind)
    if same != (wanted.part, wanted.name, wanted.cluster, wanted.kind):
        return False
    return wanted.namespace in (None, held.namespace)


def held(faults: Iterable[Fault]) -> frozenset[str]:
    """The uids of the workloads that are held down."""
    return frozenset(fault.uid for fault in faults if fault.uid)


def to_end(faults: Iterable[Fault], desired: Mapping[Key, Desired]) -> dict[Key, Desired]:
    """What is wanted once all of them are ended: what is held down is started whatever its autoStart
    says, and a workload has its replicas before any step looks at its cluster."""
    wanted = dict(desired)
    for fault in faults:
        cluster = Key("cluster", fault.target.cluster)
        if fault.target.part is not Part.WORKLOAD:
            if fault.key in wanted:
                wanted[fault.key] = replace(wanted[fault.key], start=True)
        elif cluster in wanted:
            wanted[fault.key] = Desired(fault.key, fault.name, "", None, needs=(Need(cluster),))
            for key in (k for k in wanted if k.kind == "step" and k.cluster == cluster.name):
                wanted[key] = replace(wanted[key], needs=(*wanted[key].needs, Need(fault.key)))
    return wanted


def told(faults: Iterable[Fault], changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes, with the fault as the cause of those that end one."""
    ended = {fault.key: fault for fault in faults}
    return tuple(
        Change(Verb.START, change.key, ended[change.key].cause)
        if change.key in ended and (change.verb is Verb.START or change.key.kind == KIND)
        else change
        for change in changes
    )
