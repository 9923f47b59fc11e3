"""From changes to steps: what must hold before each, and an order in which all can run.

Making follows needs (a network before its services, a dependency before its dependents); removing
runs against them. A replacement is one step: its removal half waits for what uses it, where that
is replaced or removed as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forge.plan.values import Change, Desired, Key, Need, Step, Verb

_MAKING = (Verb.CREATE, Verb.START, Verb.UPDATE, Verb.REPLACE, Verb.WAIT)

_INSIDE_LAST = ("step", "certificate-secret")
"""What goes out of a cluster only after the others of its kind were made."""


def order(changes: Iterable[Change], desired: Mapping[Key, Desired]) -> tuple[Step, ...]:
    """Steps in an order in which they could run one by one; KEEPs are left out.

    A need of something that is kept needs no waiting and is dropped: it holds already.
    """
    active = {c.key: c for c in changes if c.verb is not Verb.KEEP}
    steps = {key: Step(change, _after(change, active, desired)) for key, change in active.items()}
    return tuple(steps[key] for key in _topological(steps))


def removal_order(changes: Iterable[Change], made_at: Mapping[Key, float]) -> tuple[Step, ...]:
    """Removals, users first. made_at: key -> when it was made; inside a cluster what was made last
    goes first, for there is no file any more that would say what uses what."""
    active = {c.key: c for c in changes}

    def users(key: Key) -> Iterable[Key]:
        yield from (user for user in active if _is_used_by(key, user))
        if key.cluster is not None:
            later = [k for k in active if k.cluster == key.cluster and _when(k) > _when(key)]
            yield from later[:1] and [min(later, key=_when)]

    def _when(key: Key) -> tuple[float, Key]:
        return made_at.get(key, 0.0), key

    steps = {
        key: Step(change, tuple(sorted(Need(user) for user in users(key)))) for key, change in active.items()
    }
    return tuple(steps[key] for key in _topological(steps))


def _after(change: Change, active: Mapping[Key, Change], desired: Mapping[Key, Desired]) -> tuple[Need, ...]:
    if change.verb in _MAKING and change.key in desired:
        needs = [need for need in desired[change.key].needs if _is_made(active.get(need.key))]
    else:
        needs = []
    if change.verb is Verb.REMOVE and change.key.kind in _INSIDE_LAST:
        needs += [Need(key) for key, other in active.items() if _takes_over(change.key, key, other)]
    if change.verb in (Verb.REMOVE, Verb.REPLACE):
        gone = [key for key, other in active.items() if other.verb is Verb.REMOVE]
        needs += [Need(user) for user in gone if _is_used_by(change.key, user)]
    return tuple(sorted(set(needs)))


def _takes_over(gone: Key, key: Key, change: Change) -> bool:
    """Whether something may make what another thing, that goes, has made: steps are known by their place in
    the stack, so one that is put in moves all after it, and a certificate's Secret may leave a namespace
    that others come into. What is left then is what nobody made again."""
    makers = ("step",) if gone.kind == "step" else _INSIDE_LAST
    return key.kind in makers and key.cluster == gone.cluster and _is_made(change)


def _is_used_by(key: Key, user: Key) -> bool:
    """Whether user must be gone before key may go, as far as the keys alone tell."""
    match key.kind:
        case "network":
            return user.kind in ("service", "cluster")
        case "cluster":
            return user.kind == "service" or user.cluster == key.name
        case _:
            return False


def _is_made(change: Change | None) -> bool:
    return change is not None and change.verb in _MAKING


def _topological(steps: Mapping[Key, Step]) -> list[Key]:
    """Kahn's order, ties by the mapping's own order. The configuration's checks refuse cycles of
    needs; one that got here anyway is a programming error and raises ValueError."""
    waiting = {key: {need.key for need in step.after if need.key in steps} for key, step in steps.items()}
    done: list[Key] = []
    while waiting:
        ready = [key for key, needs in waiting.items() if not needs]
        if not ready:
            raise ValueError(f"steps wait for each other: {', '.join(map(str, waiting))}")
        for key in ready:
            del waiting[key]
        for needs in waiting.values():
            needs.difference_update(ready)
        done += ready
    return done
