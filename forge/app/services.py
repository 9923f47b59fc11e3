"""The service verbs: list, start, stop, restart, exec. They need no forge.yaml but to start anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from forge.app import lab as labs
from forge.app.lab import Lab, now
from forge.app.recorder import Recorder
from forge.app.up import Listener, Request, plan, up
from forge.errors import LockHeld, UsageError
from forge.plan.ports import Cancel, Host
from forge.plan.run import Outcome
from forge.plan.values import Key, Observed, Phase, Plan, Recorded
from forge.state.model import State


@dataclass(frozen=True, slots=True)
class ServiceLine:
    """One service as recorded and as it is now."""

    name: str
    recorded: Recorded | None
    live: Observed | None


@dataclass(frozen=True, slots=True)
class Found:
    """The services of a lab that is up. live: by name, only those that exist."""

    state: State
    host: Host
    live: Mapping[str, Observed]


def look(lab: Lab, open_host: labs.HostOpener = labs.open_host) -> Found:
    """The services of this lab as the machine shows them. Raises UsageError FG0401 when nothing is up."""
    state = lab.state()
    host = open_host(state.runtime, lab.state_dir)
    names = {key: record.name for key, record in state.resources.items() if key.kind == "service"}
    observed = host.observe(state.owner, names)
    live = {k.name: o for k, o in observed.items() if k.kind == "service" and o.owner == state.owner}
    return Found(state, host, live)


def services(lab: Lab, open_host: labs.HostOpener = labs.open_host) -> tuple[ServiceLine, ...]:
    found = look(lab, open_host)
    recorded = {key.name: r for key, r in found.state.resources.items() if key.kind == "service"}
    names = sorted(set(recorded) | set(found.live))
    return tuple(ServiceLine(name, recorded.get(name), found.live.get(name)) for name in names)


def choose(found: Found, names: Sequence[str]) -> tuple[Observed, ...]:
    """The named services, or all. Raises UsageError FG0408 for a name that does not run here."""
    unknown = [name for name in names if name not in found.live]
    if unknown:
        there = ", ".join(sorted(found.live)) or "none"
        raise UsageError(
            "FG0408",
            f"no service called {', '.join(map(repr, unknown))} is here",
            hint=f"services here: {there}",
            changed=False,
        )
    return tuple(found.live[name] for name in dict.fromkeys(names or sorted(found.live)))


def stop(
    lab: Lab,
    names: Sequence[str],
    listener: Listener,
    *,
    grace_s: float = 10.0,
    open_host: labs.HostOpener = labs.open_host,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Stops services; `up` and `service start` start them again. Gives those that were running.

    is_cancelled ends the wait for the lock: LockHeld, and nothing was changed.
    """
    with _changing(lab, "praxis-forge service stop", listener, open_host, is_cancelled) as (found, recorder):
        return tuple(
            thing.key.name
            for thing in choose(found, names)
            if _stop_one(found.host, recorder, thing, grace_s)
        )


def _stop_one(host: Host, recorder: Recorder, thing: Observed, grace_s: float) -> bool:
    recorder.stopped(thing.key)
    if thing.phase not in (Phase.RUNNING, Phase.STARTING):
        return False
    host.stop_service(thing, grace_s)
    return True


def start(
    lab: Lab, names: Sequence[str], listener: Listener, cancel: Cancel, request: Request
) -> tuple[Plan, Outcome]:
    """Starts services and what they need, and waits for their gates, as `up` does."""
    return up(lab, listener, cancel, _only(request, names))


def restart(
    lab: Lab, names: Sequence[str], listener: Listener, cancel: Cancel, request: Request
) -> tuple[Plan, Outcome]:
    """Stops, then starts. What a service depends on is not restarted.

    Raises ForgeError before anything is stopped where it could not be started again.
    """
    plan(lab, listener.note, _only(request, names))
    stop(lab, names, listener, open_host=request.open_host, is_cancelled=cancel.is_set)
    try:
        return start(lab, names, listener, cancel, request)
    except LockHeld as error:
        raise LockHeld(
            error.code,
            f"{', '.join(names)} was stopped, and cannot be started again now",
            why=error.why,
            hint=f"praxis-forge service start {' '.join(names)}, once that is done",
            changed=True,
        ) from error


def execute(
    lab: Lab,
    name: str,
    command: Sequence[str],
    *,
    tty: bool,
    open_host: labs.HostOpener = labs.open_host,
) -> int:
    """Runs a command beside a running service; gives its exit code."""
    found = look(lab, open_host)
    (thing,) = choose(found, [name])
    if thing.phase is not Phase.RUNNING:
        raise UsageError(
            "FG0409",
            f"service {name!r} does not run",
            why=f"it is {thing.phase}",
            hint=f"start it with: praxis-forge service start {name}",
            changed=False,
        )
    return found.host.exec(thing, command, tty=tty)


def _only(request: Request, names: Sequence[str]) -> Request:
    from dataclasses import replace

    if not names:
        raise UsageError("FG0408", "no service named", hint="name at least one, or use `up`", changed=False)
    return replace(request, only=tuple(Key("service", name) for name in dict.fromkeys(names)))


@contextmanager
def _changing(
    lab: Lab,
    command: str,
    listener: Listener,
    open_host: labs.HostOpener,
    is_cancelled: Callable[[], bool],
) -> Iterator[tuple[Found, Recorder]]:
    environment = lab.state().owner.environment
    with lab.locked(environment, command, listener.note, is_cancelled):
        found = look(lab, open_host)
        yield found, Recorder(lab.store, found.state, now)
