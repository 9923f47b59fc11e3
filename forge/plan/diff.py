"""Compare what is wanted with what is there and what is remembered; say what to change, and why.

The whole of Forge's judgement on one run is `diff`. It touches nothing: hosts looked at the
machine before it, apply acts after it.

What is there is read from the machine. The record only adds what a label cannot hold: that a run
was cut off while making a thing, that its gate was passed, that a user stopped it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forge.errors import NotOurs
from forge.plan.values import Change, Desired, Key, Observed, Owner, Phase, Recorded, RecordPhase, Verb

_KIND_ORDER = (
    "network",
    "image",
    "authority",
    "certificate",
    "secret",
    "cluster",
    "balancer",
    "load",
    "certificate-secret",
    "step",
    "service",
)


def diff(
    owner: Owner,
    desired: Iterable[Desired],
    observed: Mapping[Key, Observed],
    recorded: Mapping[Key, Recorded],
) -> tuple[Change, ...]:
    """One change a key, KEEP included, that takes the machine from *observed* to *desired*.

    Nothing without this environment's id is ever changed or removed. Raises NotOurs, naming all
    of them, when names that are wanted are taken by somebody else.
    """
    wanted = {d.key: d for d in desired}
    _refuse_foreign(owner, wanted, observed)
    changes = {key: _change(d, observed.get(key), recorded.get(key)) for key, d in wanted.items()}
    for key, thing in observed.items():
        if thing.owner == owner and key not in wanted:
            changes[key] = Change(Verb.REMOVE, key, "no longer in forge.yaml")
    changes = _without_the_gone(changes, observed)
    _spread_replacements(wanted, observed, changes)
    _spread_looks(wanted, changes)
    return tuple(sorted(changes.values(), key=lambda c: _place(c.key)))


def removal(owner: Owner, observed: Mapping[Key, Observed]) -> tuple[Change, ...]:
    """What `down` does: everything of this environment goes, and only that."""
    mine = [key for key, thing in observed.items() if thing.owner == owner]
    changes = {key: Change(Verb.REMOVE, key, "down") for key in sorted(mine, key=_place)}
    return tuple(_without_the_gone(changes, observed).values())


def _without_the_gone(changes: dict[Key, Change], observed: Mapping[Key, Observed]) -> dict[Key, Change]:
    """Nothing is taken out of a cluster that goes itself. One that was there before stays, so what
    Forge put into it is taken out."""
    going = {
        key.name
        for key, change in changes.items()
        if key.kind == "cluster"
        and change.verb in (Verb.REMOVE, Verb.REPLACE)
        and not (key in observed and observed[key].kept)
    }
    return {
        key: change
        for key, change in changes.items()
        if not (change.verb is Verb.REMOVE and key.cluster in going)
    }


def _place(key: Key) -> tuple[int, Key]:
    order = _KIND_ORDER.index(key.kind) if key.kind in _KIND_ORDER else len(_KIND_ORDER)
    return order, key


def _refuse_foreign(owner: Owner, wanted: Mapping[Key, Desired], observed: Mapping[Key, Observed]) -> None:
    foreign = [
        (key, thing)
        for key, thing in observed.items()
        if key in wanted and not _is_mine(owner, wanted[key], thing)
    ]
    if not foreign:
        return
    key, thing = foreign[0]
    rest = [f"{k}: {_whose(t, owner)}" for k, t in foreign[1:]]
    raise NotOurs(
        "FG0417",
        f"cannot manage {key}",
        why=f"{wanted[key].name!r} exists and {_whose(thing, owner)}",
        hint="rename it in forge.yaml, or remove the existing one yourself",
        changed=False,
        detail=tuple(rest),
    )


def _is_mine(owner: Owner, desired: Desired, thing: Observed) -> bool:
    return not desired.owned or thing.owner == owner


def _whose(thing: Observed, owner: Owner) -> str:
    if thing.owner is None:
        return "belongs to no environment"
    if thing.owner.environment == owner.environment:
        return (
            f"belongs to another environment called {owner.environment!r} "
            f"(id {thing.owner.environment_id}; this one is {owner.environment_id})"
        )
    return f"belongs to environment {thing.owner.environment!r}"


def _change(desired: Desired, found: Observed | None, recorded: Recorded | None) -> Change:
    key = desired.key
    if found is None:
        return _missing(desired, recorded)
    if not desired.owned:
        return _unowned(desired, recorded)
    if desired.in_place and found.phase is Phase.BROKEN:
        return Change(Verb.UPDATE, key, found.detail or "it was only half made")
    if not desired.fingerprint:
        return Change(Verb.UPDATE, key, "made of what is known only later")
    if found.fingerprint != desired.fingerprint:
        return Change(_mending(desired), key, "configuration differs")
    if recorded is not None and recorded.phase is RecordPhase.REMOVING:
        return Change(_mending(desired), key, "its removal was interrupted")
    if found.phase is Phase.BROKEN:
        return Change(Verb.REPLACE, key, found.detail or "it was only half made")
    return _running(desired, found, recorded)


def _unowned(desired: Desired, recorded: Recorded | None) -> Change:
    """An image: it is there. One that is built here is there as long as what it is built of is the same."""
    key = desired.key
    if not desired.in_place:
        return Change(Verb.KEEP, key, "present")
    if recorded is None or recorded.phase is not RecordPhase.CREATED:
        return Change(Verb.UPDATE, key, "it was not built here yet")
    if recorded.fingerprint != desired.fingerprint:
        return Change(Verb.UPDATE, key, "what it is built of has changed")
    return Change(Verb.KEEP, key, "present")


def _mending(desired: Desired) -> Verb:
    return Verb.UPDATE if desired.in_place else Verb.REPLACE


def _missing(desired: Desired, recorded: Recorded | None) -> Change:
    if not desired.start:
        return Change(Verb.KEEP, desired.key, "does not start by itself (autoStart: false)")
    if recorded is not None and recorded.phase is RecordPhase.CREATED and desired.owned:
        return Change(Verb.CREATE, desired.key, "not found, though it was made before")
    return Change(Verb.CREATE, desired.key, "not found")


def _running(desired: Desired, found: Observed, recorded: Recorded | None) -> Change:
    key = desired.key
    match found.phase:
        case Phase.PRESENT:
            return Change(Verb.KEEP, key, "present")
        case Phase.COMPLETED:
            return Change(Verb.KEEP, key, "completed")
        case Phase.STOPPED | Phase.FAILED if not desired.start:
            return Change(Verb.KEEP, key, "does not start by itself (autoStart: false)")
        case Phase.STOPPED:
            return Change(Verb.START, key, "it is stopped")
        case Phase.FAILED:
            return Change(Verb.START, key, f"it exited with {found.exit_code}")
        case _:
            if desired.gated and not (recorded is not None and recorded.ready):
                return Change(Verb.WAIT, key, "not seen healthy yet")
            return Change(Verb.KEEP, key, "running")


def _spread_replacements(
    wanted: Mapping[Key, Desired], observed: Mapping[Key, Observed], changes: dict[Key, Change]
) -> None:
    """A network that is replaced takes what is attached to it along, a cluster what stands in it."""
    for key, desired in wanted.items():
        for base in desired.replaces_with:
            forced = base in changes and changes[base].verb in (Verb.REPLACE, Verb.CREATE)
            if forced and key in observed and changes[key].verb not in (Verb.REPLACE, Verb.CREATE):
                word = "is replaced" if changes[base].verb is Verb.REPLACE else "is made anew"
                verb = Verb.CREATE if key.cluster is not None else Verb.REPLACE
                changes[key] = Change(verb, key, f"{base} {word}")


def _spread_looks(wanted: Mapping[Key, Desired], changes: dict[Key, Change]) -> None:
    """What is made of a thing that is made now is looked at again, and so what is made of that. A gate
    alone changes nothing."""
    waiting = True
    while waiting:
        waiting = False
        for key, desired in wanted.items():
            if changes[key].verb not in (Verb.KEEP, Verb.WAIT) or not desired.start:
                continue
            base = next((b for b in desired.follows if _is_remade(changes.get(b))), None)
            if base is not None:
                changes[key] = Change(Verb.UPDATE, key, f"{base} comes before it")
                waiting = True


def _is_remade(change: Change | None) -> bool:
    return change is not None and change.verb in (Verb.CREATE, Verb.START, Verb.UPDATE, Verb.REPLACE)
