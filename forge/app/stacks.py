"""The stack verbs: list, plan, apply, status. Planning and applying are parts of `plan` and `up`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forge.app import up as use_case
from forge.app import wish as wishes
from forge.app.lab import Lab
from forge.app.up import DEFAULTS, Listener, Prepared, Request
from forge.app.wish import Note
from forge.errors import UsageError
from forge.plan.lab_ports import ObjectRef
from forge.plan.values import Key, Owner, Plan, Recorded
from forge.stack.conditions import current_pods
from forge.stack.readiness import ObjectLine, Readiness, readiness, with_pods

if TYPE_CHECKING:
    from forge.plan.lab_ports import Kube, Object
    from forge.plan.ports import Cancel
    from forge.plan.run import Outcome

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class StackLine:
    """One stack of the file. clusters: those whose list has it, in order."""

    name: str
    description: str
    steps: int
    clusters: tuple[str, ...]


def stacks(lab: Lab) -> tuple[StackLine, ...]:
    """The stacks of the file. Raises ConfigErrors."""
    from forge.spec.load import load

    spec = load(lab.config, environ=os.environ).environment.spec
    return tuple(
        StackLine(
            name,
            stack.description or "",
            len(stack.steps),
            tuple(c.name for c in spec.clusters if name in c.stacks),
        )
        for name, stack in spec.stacks.items()
    )


def plan(
    lab: Lab, cluster: str | None, stack: str | None, note: Note, request: Request = DEFAULTS
) -> Prepared:
    """What `up` would do for the steps of these stacks, and for what they need."""
    return use_case.plan(lab, note, _part(lab, cluster, stack, request))


def apply(
    lab: Lab,
    cluster: str | None,
    stack: str | None,
    listener: Listener,
    cancel: Cancel,
    request: Request = DEFAULTS,
) -> tuple[Plan, Outcome]:
    """The part of `up` for these stacks."""
    part = _part(lab, cluster, stack, request)
    return use_case.up(lab, listener, cancel, part)


def _part(lab: Lab, cluster: str | None, stack: str | None, request: Request) -> Request:
    state = lab.store.read()
    opened = request.opened(lab, state.owner if state is not None else Owner("", ""))
    wish, _ = wishes.read(lab, state, opened, lambda _: None)
    return replace(request, only=chosen(tuple(wish.desired), cluster, stack))


def chosen(keys: Sequence[Key], cluster: str | None, stack: str | None) -> tuple[Key, ...]:
    """The steps of a stack on a cluster; of all stacks, or of all clusters, where none is named.
    Raises UsageError FG0784, naming what there is."""
    steps = [key for key in keys if key.kind == "step"]
    here = [key for key in steps if cluster in (None, key.cluster)]
    found = tuple(key for key in here if stack in (None, stack_of(key)))
    if found:
        return found
    if stack is not None and here:
        there, what = sorted({stack_of(key) for key in here}), f"stack {stack!r} on cluster {cluster!r}"
    else:
        there = sorted({str(key.cluster) for key in steps})
        what = f"cluster {cluster!r} with stacks" if cluster is not None else "stack on a cluster"
    raise UsageError(
        "FG0784",
        f"there is no {what}",
        hint=f"there: {', '.join(there) or 'none'}",
        changed=False,
    )


def stack_of(key: Key) -> str:
    """The stack of a step's key, by its name in the file."""
    return key.name.split("/")[1].partition("~")[0]


def status(
    lab: Lab, cluster: str | None, stack: str | None, request: Request = DEFAULTS
) -> tuple[ObjectLine, ...]:
    """Every object that steps of these stacks applied, as it is now. Needs no valid file. Raises
    UsageError FG0401 where nothing is up, OperationFailed where a cluster does not answer."""
    state = lab.state()
    doors = request.opened(lab, state.owner).doors(state.runtime)
    keys = chosen(tuple(state.resources), cluster, stack)
    records: dict[str, dict[Key, Recorded]] = {}
    for key in keys:
        records.setdefault(str(key.cluster), {})[key] = state.resources[key]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        looked = pool.map(lambda name: tuple(_look(doors.kube(name), records[name])), records)
        held = {fault.uid: f"by {fault}" for fault in state.faults if fault.uid}
        return tuple(_as_held(line, held) for lines in looked for line in lines)


def _as_held(line: ObjectLine, held: Mapping[str, str]) -> ObjectLine:
    """A workload without replicas is available, as Kubernetes has it; here somebody wanted more."""
    reason = held.get(line.ref.uid)
    if reason is None or line.readiness is Readiness.GONE:
        return line
    return replace(line, readiness=Readiness.HELD, reason=reason)


def _look(kube: Kube, records: Mapping[Key, Recorded]) -> Iterator[ObjectLine]:
    refs = [(key, ref) for key in sorted(records) for ref in records[key].objects]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(lambda pair: _line(kube, *pair), refs)


def _line(kube: Kube, key: Key, ref: ObjectRef) -> ObjectLine:
    thing = kube.get(ref.api_version, ref.kind, ref.namespace, ref.name)
    found = readiness(thing)
    if thing is not None and not found[0].is_well and with_pods(ref):
        found = readiness(thing, _pods(kube, ref.namespace, thing))
    return ObjectLine(key, ref, *found)


def _pods(kube: Kube, namespace: str, thing: Object) -> tuple[Object, ...]:
    labels = ((thing.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    if not selector:
        return ()
    sets, pods = (kube.find(what, namespace, selector=selector) for what in ("replicasets", "pods"))
    return current_pods(thing, sets, pods)
