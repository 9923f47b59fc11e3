"""`status`: what is asked for, what is recorded and what is there, side by side, with what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from forge.app import wish as wishes
from forge.app.lab import Lab, now
from forge.app.look import Sight, look
from forge.app.up import DEFAULTS, Request
from forge.app.wish import Opened, Wish
from forge.errors import ForgeError
from forge.plan.faults import held
from forge.plan.ports import Host, ProbeResult
from forge.plan.resources import ServiceResource
from forge.plan.standing import Status, row
from forge.plan.values import Desired, Key, Observed, Owner, Phase
from forge.state.model import State


def status(lab: Lab, note: Callable[[str], None], request: Request = DEFAULTS) -> Status:
    """Looks, and probes every service's health once. Takes no lock and changes nothing."""
    state = lab.store.read()
    opened = request.opened(lab, state.owner if state is not None else Owner("", ""))
    wish, host, config_error = _wish(lab, state, note, opened)
    if host is None or state is None:
        name = wish.environment if wish else state.owner.environment if state else ""
        rows = tuple(row(k, d, None, None, None) for k, d in (wish.desired if wish else {}).items())
        return Status(name, wish.runtime if wish else "", is_up=False, last_operation="", rows=rows)
    desired = wish.desired if wish else {}
    doors = opened.doors(state.runtime or host.runtime)
    sight = Sight(host, doors, state.owner, now(), state.resources, held(state.faults))
    observed = look(sight, desired, wish.clusters if wish else {})
    live = {k: o for k, o in observed.items() if o.owner in (state.owner, None) or k in desired}
    probes = _probe_all(host, desired, live)
    keys = dict.fromkeys([*desired, *state.resources, *live])
    rows = tuple(
        row(
            key,
            desired.get(key),
            state.resources.get(key),
            live.get(key),
            probes.get(key),
            state.owner,
            judged=wish is not None,
        )
        for key in keys
    )
    last = state.last_operation
    operation = f"{last.command} {last.outcome}" if last is not None else ""
    name = state.owner.environment
    return Status(name, state.runtime, bool(state.resources), operation, rows, config_error, state.faults)


def _wish(
    lab: Lab, state: State | None, note: Callable[[str], None], opened: Opened
) -> tuple[Wish | None, Host | None, ForgeError | None]:
    """The file's wish with its values where it can be read; the recorded runtime's host anyway."""
    try:
        wish, host = wishes.read(lab, state, opened, note)
    except ForgeError as error:
        if state is None or not state.runtime:
            raise
        return None, opened.host(state.runtime), error
    return wish, host, None


def _probe_all(
    host: Host, desired: Mapping[Key, Desired], live: Mapping[Key, Observed]
) -> Mapping[Key, ProbeResult]:
    jobs = {
        key: (thing, resource)
        for key, thing in live.items()
        if thing.phase is Phase.RUNNING
        and key in desired
        and isinstance(resource := desired[key].resource, ServiceResource)
        and resource.health is not None
    }
    if not jobs:
        return {}
    with ThreadPoolExecutor(max_workers=min(32, len(jobs))) as pool:
        futures = {
            key: pool.submit(host.probe, thing, resource, resource.health)
            for key, (thing, resource) in jobs.items()
            if resource.health is not None
        }
        return {key: future.result() for key, future in futures.items()}
