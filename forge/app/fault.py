"""`fault stop`, `kill`, `restore` and `list`: what is held down on purpose, journaled before it is done.

Restoring is a part of `up`: it does for the named things what `up` does for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forge.app.lab import Lab, now
from forge.app.recorder import Recorder
from forge.app.up import DEFAULTS, Listener, Request, up
from forge.errors import ForgeError, UsageError
from forge.plan.facts import Facts
from forge.plan.faults import API_VERSION, Fault, How, Part, Target, meant, parse
from forge.plan.kind import Site
from forge.plan.values import Key, Observed, Phase, Plan
from forge.state.model import State

if TYPE_CHECKING:
    from forge.plan import kind
    from forge.plan.lab_ports import Kube, Object
    from forge.plan.ports import Cancel, Host
    from forge.plan.run import Outcome


@dataclass(frozen=True, slots=True)
class Scene:
    """What a command on faults works with, while it holds the lock."""

    recorder: Recorder
    host: Host
    doors: kind.Lab
    note: Callable[[str], None]
    cancel: Cancel
    grace_s: float = 10.0

    @property
    def state(self) -> State:
        return self.recorder.state

    def site(self, name: str) -> Site:
        def progress(text: str) -> None:
            self.note(f"{name}: {text}")

        return Site(self.host, self.state.owner, progress, self.cancel, self.doors, Facts)


def listed(lab: Lab) -> tuple[Fault, ...]:
    """What is held down, the oldest first. Nothing where nothing is up."""
    state = lab.store.read()
    return tuple(sorted(state.faults, key=lambda f: f.at)) if state is not None else ()


def hold(
    lab: Lab,
    names: Sequence[str],
    how: How,
    listener: Listener,
    cancel: Cancel,
    *,
    grace_s: float = 10.0,
    timeout_s: float = 600.0,
    request: Request = DEFAULTS,
) -> tuple[Fault, ...]:
    """Holds all of these down; gives their faults. Names are all understood before anything is done.

    Raises UsageError FG0780, FG0781, FG0783 (nothing was changed then), Unhealthy FG0782, LockHeld.
    What was held down before it failed stays held down, and is listed.
    """
    from forge.app.act import StepCancel

    command = f"praxis-forge fault {how}"
    limit = StepCancel(cancel, time.monotonic() + timeout_s)
    with _scene(lab, command, listener, limit, grace_s, request) as scene:
        acts = [_understood(scene, name, how) for name in dict.fromkeys(names)]
        return tuple(act() for act in acts)


def restore(
    lab: Lab,
    names: Sequence[str],
    listener: Listener,
    cancel: Cancel,
    *,
    request: Request = DEFAULTS,
) -> tuple[Plan, Outcome] | None:
    """Ends these faults, or all where none is named; None where nothing is held down."""
    held = lab.state().faults
    wanted = tuple(f for name in names for f in _meant(held, name)) if names else held
    if not wanted:
        return None
    keys = tuple(dict.fromkeys(fault.key for fault in wanted))
    return up(lab, listener, cancel, replace(request, only=keys))


def let_go(scene: Scene, observed: Mapping[Key, Observed]) -> None:
    """Before `down`: gives workloads of others, in clusters that stay, their replicas back. What cannot
    be restored is told: nobody else will remember it."""
    from forge.kinds import fault as faults

    state = scene.state
    ours = {ref.uid for record in state.resources.values() for ref in record.objects}
    for fault in state.faults:
        cluster = observed.get(Key("cluster", fault.target.cluster))
        if not fault.uid or fault.uid in ours or cluster is None or not cluster.kept:
            continue
        try:
            faults.restore(fault, scene.site(fault.name))
        except ForgeError as error:
            scene.note(f"{fault.name} stays without its {fault.replicas} replicas: {error.why or error.what}")
        else:
            scene.recorder.restored(fault)


def _meant(held: tuple[Fault, ...], name: str) -> tuple[Fault, ...]:
    found = meant(held, _target(name))
    if not found:
        there = ", ".join(fault.name for fault in held) or "nothing"
        raise UsageError(
            "FG0780",
            f"{name!r} is not held down",
            hint=f"what is: {there}",
            changed=False,
        )
    return found


@contextmanager
def _scene(
    lab: Lab, command: str, listener: Listener, cancel: Cancel, grace_s: float, request: Request
) -> Iterator[Scene]:
    environment = lab.state().owner.environment
    with lab.locked(environment, command, listener.note, cancel.is_set):
        state = lab.state()
        opened = request.opened(lab, state.owner)
        recorder = Recorder(lab.store, state, now)
        host, doors = opened.host(state.runtime), opened.doors(state.runtime)
        yield Scene(recorder, host, doors, listener.note, cancel, grace_s)


def _target(name: str) -> Target:
    try:
        return parse(name)
    except ValueError as error:
        raise UsageError(
            "FG0780",
            f"{name!r} names nothing that can be held down",
            why=str(error),
            hint="praxis-forge status shows services and clusters, stack status workloads",
            changed=False,
        ) from error


Act = Callable[[], Fault]


def _understood(scene: Scene, name: str, how: How) -> Act:
    """What is to be done for one name. Looks, and changes nothing."""
    target = _target(name)
    if target.part is Part.WORKLOAD:
        return _workload(scene, target, how)
    parts = (Part.SERVICE, Part.CLUSTER) if target.part is Part.EITHER else (target.part,)
    keys = [
        Key(part.value, target.name)
        for part in parts
        if Key(part.value, target.name) in scene.state.resources
    ]
    if not keys:
        raise _unknown(scene, name)
    if len(keys) > 1:
        raise UsageError(
            "FG0780",
            f"{name!r} is a service and a cluster",
            hint=f"write service/{target.name} or cluster/{target.name}",
            changed=False,
        )
    return _service(scene, keys[0], how) if keys[0].kind == Part.SERVICE else _cluster(scene, keys[0], how)


def _unknown(scene: Scene, name: str) -> UsageError:
    kinds = (Part.SERVICE, Part.CLUSTER)
    there = ", ".join(sorted(key.name for key in scene.state.resources if key.kind in kinds)) or "none"
    return UsageError(
        "FG0780",
        f"nothing called {name!r} is here",
        hint=f"services and clusters here: {there}; a workload is written CLUSTER/KIND/NAME",
        changed=False,
    )


def _is_held(scene: Scene, name: str) -> bool:
    return any(fault.name == name for fault in scene.state.faults)


def _service(scene: Scene, key: Key, how: How) -> Act:
    thing = scene.host.inspect_service(key, scene.state.resources[key].name)
    runs = thing is not None and thing.phase in (Phase.RUNNING, Phase.STARTING)
    if not runs and not _is_held(scene, str(key)):
        raise _nothing_there(str(key), f"it is {thing.phase}" if thing is not None else "it does not exist")

    def act() -> Fault:
        fault = scene.recorder.faulted(Fault(str(key), how, now()))
        scene.recorder.stopped(key)
        if thing is not None and runs:
            scene.host.stop_service(thing, 0.0 if how is How.KILL else scene.grace_s)
        return fault

    return act


def _cluster(scene: Scene, key: Key, how: How) -> Act:
    if how is How.KILL:
        raise UsageError(
            "FG0783",
            f"{key} can be stopped, not killed",
            why="a cluster is many programs, on machines of their own",
            hint=f"praxis-forge fault stop {key.name}; kill its workloads one by one",
            changed=False,
        )
    recorded = {key: scene.state.resources[key]}
    live = scene.doors.clusters.observe(scene.state.owner, {}, recorded).get(key)
    if live is None or (live.phase is not Phase.RUNNING and not _is_held(scene, str(key))):
        raise _nothing_there(str(key), "it does not exist" if live is None else f"it is {live.phase}")
    if live.kept:
        raise UsageError(
            "FG0783",
            f"{key} is not Forge's to stop",
            why="it is an existing cluster, which was there before and serves others too",
            hint="hold its workloads down instead, one by one",
            changed=False,
        )

    def act() -> Fault:
        fault = scene.recorder.faulted(Fault(str(key), how, now()))
        scene.recorder.stopped(key)
        scene.doors.clusters.stop(key, scene.state.resources[key].name)
        return fault

    return act


def _workload(scene: Scene, target: Target, how: How) -> Act:
    from forge.kinds import fault as faults

    if Key("cluster", target.cluster) not in scene.state.resources:
        raise _unknown(scene, target.cluster)
    kube = scene.doors.kube(target.cluster)
    thing = _found(scene, target, kube)
    meta = thing["metadata"]
    name = str(replace(target, namespace=meta["namespace"]))
    count = faults.replicas(thing)
    if not count and not _is_held(scene, name):
        raise _nothing_there(name, "it asks for no replicas")
    new = Fault(name, how, now(), count, meta["uid"], faults.generation(thing))

    def act() -> Fault:
        fault = scene.recorder.faulted(new)
        faults.hold(fault, scene.site(name))
        return fault

    return act


def _found(scene: Scene, target: Target, kube: Kube) -> Object:
    """The workload, in the namespace that was named or wherever this lab has one of that name.
    Raises UsageError FG0780."""
    spaces = [target.namespace] if target.namespace else _namespaces(scene.state, target)
    found = [kube.get(API_VERSION, target.kind, space, target.name) for space in spaces]
    there = [thing for thing in found if thing is not None]
    if len(there) == 1:
        return there[0]
    names = ", ".join(str(replace(target, namespace=thing["metadata"]["namespace"])) for thing in there)
    raise UsageError(
        "FG0780",
        f"{target} is not there" if not there else f"{target} is there more than once",
        why=""
        if there
        else f"cluster {target.cluster} has no {target.kind} {target.name} in {', '.join(spaces)}",
        hint=f"name one of {names}" if there else "see what is with: praxis-forge stack status",
        changed=False,
    )


def _namespaces(state: State, target: Target) -> list[str]:
    """Where this lab made one of that kind and name; else the default namespace."""
    records: Mapping[Key, object] = state.resources
    spaces = {
        ref.namespace: None
        for key in records
        if key.cluster == target.cluster
        for ref in state.resources[key].objects
        if (ref.kind, ref.name) == (target.kind, target.name)
    }
    return sorted(spaces) or ["default"]


def _nothing_there(name: str, why: str) -> UsageError:
    return UsageError(
        "FG0781",
        f"{name} cannot be held down",
        why=why,
        hint="there is nothing of it that runs",
        changed=False,
    )
