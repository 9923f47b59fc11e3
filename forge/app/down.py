"""`down`: takes away all that this environment made, and only that, whatever state it is in.

It needs no forge.yaml. What exists is read from the machine's labels; the state only says whose
labels, and on which runtime. It goes on after a failure and says at the end what is left.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from forge.app.act import Actor, Limits, Tools
from forge.app.clusters import unmerge
from forge.app.fault import Scene, let_go
from forge.app.lab import Lab, now
from forge.app.look import Sight, look
from forge.app.recorder import Recorder
from forge.app.up import DEFAULTS, Listener, Request
from forge.app.wish import Opened
from forge.apply import Work, apply
from forge.errors import ForgeError
from forge.plan.diff import removal
from forge.plan.order import removal_order
from forge.plan.ports import Cancel
from forge.plan.run import Outcome
from forge.plan.values import Key, Observed, Plan
from forge.state import registry
from forge.state.model import State
from forge.state.store import StateStore

_OURS = ("cache/wish.*", "cache/merged.*", "evidence/*.tmp", "evidence/*.json")
"""What Forge puts beside the state, but for `runtime`. A state directory may be any folder, one with
a `cache` of somebody else's included: anything that Forge did not make is left."""


def down(
    lab: Lab,
    listener: Listener,
    cancel: Cancel,
    *,
    parallel: int = 8,
    dry_run: bool = False,
    request: Request = DEFAULTS,
) -> tuple[Plan, Outcome] | None:
    """Removes everything of this environment; None where nothing is recorded.

    When nothing of it is left, its state goes too. Raises ForgeError for what stops it before it
    begins (a damaged state file, an engine that does not answer); nothing was changed then.
    """
    state = lab.store.read()
    if state is None:
        return None
    opened = request.opened(lab, state.owner)
    if dry_run:
        plan, _ = _plan(state, opened)
        listener.plan(plan)
        return replace(plan, steps=()), Outcome((), {}, {}, {})
    with lab.locked(state.owner.environment, "praxis-forge down", listener.note, cancel.is_set):
        state = lab.store.read()
        if state is None:
            return None
        plan, observed = _plan(state, opened)
        listener.plan(plan)
        return plan, _run(lab, state, plan, observed, listener, cancel, parallel, opened)


def _plan(state: State, opened: Opened) -> tuple[Plan, dict[Key, Observed]]:
    name = state.owner.environment
    if not state.runtime:
        return Plan(name, "", ()), {}
    observed = look(_sight(state, opened), {}, {})
    made_at = {key: record.at for key, record in state.resources.items()}
    return Plan(name, state.runtime, removal_order(removal(state.owner, observed), made_at)), observed


def _sight(state: State, opened: Opened) -> Sight:
    host, doors = opened.host(state.runtime), opened.doors(state.runtime)
    return Sight(host, doors, state.owner, now(), state.resources)


def _run(
    lab: Lab,
    state: State,
    plan: Plan,
    observed: dict[Key, Observed],
    listener: Listener,
    cancel: Cancel,
    parallel: int,
    opened: Opened,
) -> Outcome:
    recorder = Recorder(lab.store, state, now)
    recorder.began("down", state.runtime, state.allocation)
    if not state.runtime:
        _forget(lab.store, state.kept)
        return Outcome((), {}, {}, {})
    host = opened.host(state.runtime)
    doors = opened.doors(state.runtime)
    let_go(Scene(recorder, host, doors, listener.note, cancel), observed)
    tools = Tools(host, doors)
    actor = Actor(tools, recorder, {}, observed, cancel, Limits(timeout_s=120.0))
    work = Work(actor.act, actor.await_gate, listener.event, time.monotonic)
    outcome = apply(plan.steps, {}, work, parallel=parallel, cancel=cancel)
    if not outcome.is_complete:
        recorder.ended("interrupted" if outcome.cancelled else "failed")
        return outcome
    try:
        host.close(state.owner)
    except ForgeError:
        recorder.ended("failed")
        raise
    left = look(_sight(recorder.state, opened), {}, {})
    if any(thing.owner == state.owner for thing in left.values()):
        recorder.ended("failed")
        return replace(outcome, skipped=dict.fromkeys(left, "it came back while `down` ran"))
    unmerge(lab, state.owner, listener.note)
    _forget(lab.store, state.kept)
    registry.forget(state.owner.environment_id)
    return outcome


def _forget(store: StateStore, kept: Collection[str]) -> None:
    """Removes the state and what Forge put beside it. The lock goes with whoever holds it. kept:
    names in `runtime` that stood there before the first `up`."""
    runtime = store.directory / "runtime"
    for path in runtime.iterdir() if runtime.is_dir() else ():
        if path.name in kept:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # it is not there, or holds what was kept
        runtime.rmdir()
    for pattern in _OURS:
        for file in store.directory.glob(pattern):
            file.unlink(missing_ok=True)
        with suppress(OSError):  # it is not there, or holds what is not ours
            (store.directory / pattern).parent.rmdir()
    for file in (store.path, store.backup):
        file.unlink(missing_ok=True)
    store.forget_ignore()


def sweep(lab: Lab) -> None:
    """After `down` let go of its lock: removes the state directory, if nothing else is in it."""
    from forge.state.lock import sweep as sweep_directory

    sweep_directory(lab.state_dir)
