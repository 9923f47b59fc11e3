"""`plan` and `up`: observe, judge, show; then make it so."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forge import catalog
from forge.app import lab as labs
from forge.app import wish as wishes
from forge.app.doors import Doors, Opener
from forge.app.lab import Lab, now
from forge.app.look import Sight, look
from forge.app.wish import Wish
from forge.errors import ForgeError, UsageError
from forge.plan.diff import diff
from forge.plan.facts import Facts
from forge.plan.faults import Fault, Part, held, to_end, told
from forge.plan.kind import Context, Made
from forge.plan.order import order
from forge.plan.run import Event, Outcome
from forge.plan.values import Change, Desired, Key, Observed, Owner, Plan, RecordPhase, Verb

if TYPE_CHECKING:
    from forge.app.recorder import Recorder
    from forge.plan import kind
    from forge.plan.ports import Cancel, Host
    from forge.spec.model import Environment
    from forge.state.model import State

DEFAULT_PARALLEL = 8
"""Actions at once. Most of an action is waiting for an engine; eight keep two cores busy."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told while a use case runs. plan: once, before anything is done."""

    note: Callable[[str], None]
    plan: Callable[[Plan], None]
    event: Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that was looked at for a plan. state: what was recorded, None for a new lab.
    partial: only some of the file's services are meant. opened: what the run goes on with."""

    lab: Lab
    wish: Wish
    host: Host
    opened: wishes.Opened
    state: State | None
    observed: Mapping[Key, Observed]
    plan: Plan
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """only: what to bring up, with what it needs and whatever its autoStart says; () for the whole file."""

    parallel: int = DEFAULT_PARALLEL
    timeout_s: float = 600.0
    only: tuple[Key, ...] = ()
    open_host: labs.HostOpener = labs.open_host
    open_doors: Opener = Doors

    def opened(self, lab: Lab, owner: Owner) -> wishes.Opened:
        """What belongs to a runtime, opened once each."""
        hosts: dict[str, Host] = {}
        doors: dict[str, kind.Lab] = {}

        def host(runtime: str) -> Host:
            if runtime not in hosts:
                hosts[runtime] = self.open_host(runtime, lab.state_dir)
            return hosts[runtime]

        def door(runtime: str) -> kind.Lab:
            if runtime not in doors:
                doors[runtime] = self.open_doors(lab, runtime, owner)
            return doors[runtime]

        return wishes.Opened(host, door)


DEFAULTS = Request()


def plan(lab: Lab, note: Callable[[str], None], request: Request = DEFAULTS) -> Prepared:
    """What `up` would do. Reads only: no lock, no file, nothing made or started."""
    state = lab.store.read()
    prepared = _prepare(lab, state, note, request)
    missing = _missing_tool(prepared)
    if missing is not None:
        note(f"warning: {missing.what}: {missing.why}; `up` will refuse to begin")
    return prepared


def _missing_tool(prepared: Prepared) -> ForgeError | None:
    """The first program that a step of the plan runs and that is not on this machine."""
    spec = prepared.wish.spec
    if spec is None or not spec.spec.clusters:
        return None
    from forge.kinds.step import kind as step

    making = {s.change.key for s in prepared.plan.steps if s.change.verb is not Verb.REMOVE}
    return step.missing_tool(spec, prepared.opened.doors(prepared.wish.runtime).tools.find, making)


def up(lab: Lab, listener: Listener, cancel: Cancel, request: Request = DEFAULTS) -> tuple[Plan, Outcome]:
    """Makes the machine what the file says, as far as it can, and records every step.

    Raises ForgeError for what stops the run before it begins (nothing was changed); how each step
    ended is in the outcome. A cancelled run has saved its state.
    """
    name = _name(lab, request)
    with lab.locked(name, "praxis-forge up", listener.note, cancel.is_set):
        state = lab.store.read_or_new(name)
        prepared = _prepare(lab, state, listener.note, request)
        listener.plan(prepared.plan)
        if prepared.plan.is_empty and _is_recorded(prepared):
            return prepared.plan, Outcome((), {}, {}, {})
        if missing := _missing_tool(prepared):
            raise missing
        return prepared.plan, _run(_with_values(prepared, listener.note, request), listener, cancel, request)


def _name(lab: Lab, request: Request) -> str:
    """The environment's name, for the lock: of the remembered wish, or of the file."""
    state = lab.store.read()
    if state is not None:
        known = wishes.remembered(lab, state, request.opened(lab, state.owner).doors)
        if known is not None:
            return known.environment
    from forge.spec.load import load

    return load(lab.config, environ=os.environ).environment.metadata.name


def _prepare(lab: Lab, state: State | None, note: Callable[[str], None], request: Request) -> Prepared:
    opened = request.opened(lab, state.owner if state is not None else Owner("", ""))
    wish = wishes.remembered(lab, state, opened.doors)
    if wish is not None:
        host = opened.host(wish.runtime)
    else:
        wish, host = wishes.read(lab, state, opened, note)
    owner = state.owner if state is not None else Owner(wish.environment, "")
    recorded = state.resources if state is not None else {}
    faults = state.faults if state is not None else ()
    wish = _meant(wish, faults, request)
    sight = Sight(host, opened.doors(wish.runtime), owner, now(), recorded, held(faults))
    found = look(sight, wish.desired, wish.clusters, partial=bool(request.only))
    observed = _watched(found, wish, request.only)
    changes = told(faults, diff(owner, wish.desired.values(), observed, recorded))
    return Prepared(
        lab, wish, host, opened, state, observed, _plan(wish, changes), partial=bool(request.only)
    )


def _plan(wish: Wish, changes: tuple[Change, ...]) -> Plan:
    kept = tuple(c for c in changes if c.verb is Verb.KEEP)
    return Plan(wish.environment, wish.runtime, order(changes, wish.desired), kept, wish.desired)


def _meant(wish: Wish, faults: tuple[Fault, ...], request: Request) -> Wish:
    """The part of a wish that is asked for, with all faults of it ended."""
    return _only(replace(wish, desired=to_end(faults, wish.desired)) if faults else wish, request.only)


def _only(wish: Wish, keys: tuple[Key, ...]) -> Wish:
    """The part of a wish that these need, started whatever their autoStart says."""
    if not keys:
        return wish
    _refuse_unknown(wish, keys)
    reach: set[Key] = set()
    new = set(keys)
    while new - reach:
        reach |= new
        new = {need.key for key in reach for need in wish.desired[key].needs}
    part = {k: replace(d, start=True) for k, d in wish.desired.items() if k in reach}
    return replace(wish, desired=part)


def _refuse_unknown(wish: Wish, keys: tuple[Key, ...]) -> None:
    unknown = sorted(key for key in keys if key not in wish.desired)
    if unknown:
        kind = unknown[0].kind
        known = ", ".join(k.name for k in wish.desired if k.kind == kind) or "none"
        raise UsageError(
            "FG0408",
            f"no {kind} called {', '.join(repr(key.name) for key in unknown if key.kind == kind)}",
            hint=f"{kind}s in the file: {known}",
            changed=False,
        )


def _watched(observed: Mapping[Key, Observed], wish: Wish, only: tuple[Key, ...]) -> Mapping[Key, Observed]:
    """When only some things are meant, the others are none of this run's business."""
    return observed if not only else {k: o for k, o in observed.items() if k in wish.desired}


def _is_recorded(prepared: Prepared) -> bool:
    """Whether the record already says that all of this stands, so that nothing need be written."""
    state, wish = prepared.state, prepared.wish
    if state is None or not wish.from_cache or state.last_operation is None:
        return False
    return state.last_operation.outcome == "done" and state.runtime == wish.runtime and not state.faults


def _with_values(prepared: Prepared, note: Callable[[str], None], request: Request) -> Prepared:
    """The same plan with every value at hand, for a run that has something to do."""
    if not prepared.wish.from_cache:
        return prepared
    wish, host = wishes.read(prepared.lab, prepared.state, prepared.opened, note)
    wish = _meant(wish, prepared.state.faults if prepared.state is not None else (), request)
    return replace(prepared, wish=wish, host=host, plan=replace(prepared.plan, desired=wish.desired))


def _run(prepared: Prepared, listener: Listener, cancel: Cancel, request: Request) -> Outcome:
    from forge.app.act import Actor, Limits, Tools
    from forge.app.recorder import Recorder
    from forge.apply import Work, apply
    from forge.state.registry import Entry, register

    wish, lab, plan = prepared.wish, prepared.lab, prepared.plan
    state = prepared.state
    if state is None:
        raise ValueError("a run needs a state to write to")
    if not state.generation:
        state = replace(state, kept=lab.store.kept())
    recorder = Recorder(lab.store, state, now)
    recorder.began("up", wish.runtime, wish.allocation)
    owner = recorder.state.owner
    entry = Entry(owner.environment, owner.environment_id, str(lab.state_dir), str(lab.config), wish.runtime)
    register(entry)
    _settle(recorder, prepared)
    doors = prepared.opened.doors(wish.runtime)
    for cluster in wish.clusters.values():
        doors.clusters.update_images(cluster)
    late = Late(prepared, recorder, doors)
    tools = Tools(prepared.host, doors, late.settle, late.facts)
    limits = Limits(timeout_s=request.timeout_s)
    actor = Actor(tools, recorder, wish.desired, prepared.observed, cancel, limits)
    work = Work(actor.act, actor.await_gate, listener.event, time.monotonic)
    outcome = apply(plan.steps, wish.desired, work, parallel=request.parallel, cancel=cancel)
    _forget_ended(recorder, prepared, outcome)
    _end(recorder, outcome)
    if outcome.is_complete and not request.only:
        wishes.remember(lab, late.all_settled(), recorder.state, prepared.opened.doors)
    return outcome


@dataclass(frozen=True, slots=True)
class Late:
    """What is known only while a run goes on."""

    prepared: Prepared
    recorder: Recorder
    doors: kind.Lab

    def facts(self) -> Facts:
        return wishes.known(self.recorder.state, self.doors)

    def settle(self, desired: Desired) -> Desired:
        spec = self.prepared.wish.spec
        return desired if spec is None else catalog.settle(spec, self._context(spec), desired)

    def all_settled(self) -> Wish:
        """The wish with what the run has brought about, for the next run to remember."""
        wish = self.prepared.wish
        if wish.spec is None or not (wish.clusters or any(d.follows for d in wish.desired.values())):
            return wish
        return replace(wish, desired=catalog.desire(wish.spec, self._context(wish.spec)))

    def _context(self, spec: Environment) -> Context:
        wish, lab = self.prepared.wish, self.prepared.lab
        state = self.recorder.state
        return wishes.context_of(lab, spec, wish.runtime, wish.allocation, state, self.doors)


def _forget_ended(recorder: Recorder, prepared: Prepared, outcome: Outcome) -> None:
    """Services and clusters that run are not held down any more. A workload's fault was forgotten when
    its replicas were there again."""
    for fault in recorder.state.faults:
        wanted = fault.key in prepared.plan.desired
        is_down = fault.key in outcome.failed or fault.key in outcome.skipped
        if fault.target.part is not Part.WORKLOAD and wanted and not is_down and not outcome.cancelled:
            recorder.restored(fault)


def _end(recorder: Recorder, outcome: Outcome) -> None:
    """Writes how it ended. Where something failed already, a state that cannot be saved is most
    likely the cause, and is among the failures."""
    try:
        recorder.ended("done" if outcome.is_complete else "interrupted" if outcome.cancelled else "failed")
    except ForgeError:
        if outcome.is_complete:
            raise


def _settle(recorder: Recorder, prepared: Prepared) -> None:
    """Brings the record in line with what stands: a run that was killed between making a thing and
    saying so left a record behind the machine, or none."""
    wanted = prepared.wish.desired
    kept = {c.key for c in prepared.plan.kept} | {
        s.change.key for s in prepared.plan.steps if s.change.verb is Verb.WAIT
    }
    for key in kept:
        thing, record = prepared.observed.get(key), recorder.state.resources.get(key)
        if thing is not None and (record is None or record.phase is not RecordPhase.CREATED):
            recorder.created(wanted[key], Made(thing.id))
    for key in tuple(recorder.state.resources):
        if key not in wanted and key not in prepared.observed and not prepared.partial:
            recorder.removed(key)
