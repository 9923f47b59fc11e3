"""`ls` and `gc`: the environments of this host, and the end of those whose folder is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from forge.errors import ForgeError
from forge.plan.environments import EnvironmentLine, Standing, unknown
from forge.plan.values import Owner
from forge.state import registry
from forge.state.registry import Entry
from forge.state.store import StateStore

Note = Callable[[str], None]


def environments(note: Note) -> tuple[EnvironmentLine, ...]:
    """All that this user noted, and all that the container engine has things of. Changes nothing."""
    engine = _on_engine(note)
    known = {e.environment_id: _line(e, engine) for e in registry.entries()}
    return (*known.values(), *unknown(known, engine))


def _on_engine(note: Note) -> Mapping[Owner, int]:
    """Nothing where no engine answers: then nothing of it can be told."""
    from forge.host import leftovers
    from forge.host.containers import engine_reachable

    if not engine_reachable():
        return {}
    try:
        return leftovers.on_engine(leftovers.open_engine())
    except ForgeError as error:
        note(f"the container engine was not looked at: {error.why or error.what}")
        return {}


def _line(entry: Entry, engine: Mapping[Owner, int]) -> EnvironmentLine:
    owner = Owner(entry.environment, entry.environment_id)
    state = None
    with suppress(ForgeError):
        state = StateStore(Path(entry.state_dir)).read()
    on_engine = engine.get(owner, 0)
    if state is None or state.owner != owner:
        standing = Standing.ORPHAN if _is_gone(entry, has_state=state is not None) else Standing.UP
        return EnvironmentLine(owner, standing, entry.runtime, entry.state_dir, None, on_engine)
    last = state.last_operation
    told = f"{last.command} {last.outcome}" if last is not None else ""
    return EnvironmentLine(
        owner, Standing.UP, state.runtime, entry.state_dir, len(state.resources), on_engine, told
    )


def _is_gone(entry: Entry, *, has_state: bool) -> bool:
    """Its state file is not there, or is another environment's. One that is damaged is there."""
    return has_state or not StateStore(Path(entry.state_dir)).path.exists()


def collect(note: Note, *, dry_run: bool = False) -> tuple[tuple[EnvironmentLine, tuple[str, ...]], ...]:
    """Takes away what orphans left; gives each with the names of what went. What only the engine knows
    is left: nobody here can tell whether its folder is gone.

    On the embedded runtime nothing is left: its supervisor ends with its folder.
    """
    orphans = [line for line in environments(note) if line.standing is Standing.ORPHAN]
    return tuple((line, () if dry_run else _collect(line)) for line in orphans)


def _collect(line: EnvironmentLine) -> tuple[str, ...]:
    gone: tuple[str, ...] = ()
    if line.on_engine:
        from forge.host import leftovers

        gone = leftovers.remove(leftovers.open_engine(), line.owner)
    registry.forget(line.owner.environment_id)
    return gone
