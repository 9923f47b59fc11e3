"""Chooses a candidate, or says why there is none: a pipeline of small functions in the documents' order.

    1  tenant and model authorization    is_authorized
    2  capability and trust              capability: known to the snapshot, by a cluster configured here
    3  residency                         gates.resident
    4  health, freshness, admission      gates.untried, open_to_existing, open_to_new, fresh_first
    5  route class                       none yet: no overlay carries one
    6  established binding               established
    7  best tier                         gates.best_tier: the tier of whoever Grid ranks first
    8  rank                              Grid's order, kept by every step
    9  deterministic among equals        prefer

Gates come before preferences, and no step adds: an edge only narrows what Grid offers it, in Grid's order.
The best tier is the one Grid put first of what is left, not the nearest by name, since Grid may rank by
score; under its default order the two are the same. Freshness is a gate and never a preference: a stale
candidate is chosen only where no fresh one is open.

Nothing here reads a clock, draws lots or remembers; what was decided before comes in as a value.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from edge.routing.affinity import rendezvous
from edge.routing.decision import Decision, Reason
from edge.routing.gates import Choices, choices, resident, untried
from edge.routing.snapshot import Route, Snapshot


class Spread(StrEnum):
    """How requests without a session are shared among equals. DETERMINISTIC: Grid's first takes all.
    ROUND_ROBIN: in turns. RENDEZVOUS: by the request's own key."""

    DETERMINISTIC = "deterministic"
    ROUND_ROBIN = "round_robin"
    RENDEZVOUS = "rendezvous"


# On Python 3.11 a member looked up on its Enum costs as much as a call.
_DETERMINISTIC: Final = Spread.DETERMINISTIC
_ROUND_ROBIN: Final = Spread.ROUND_ROBIN
_AFFINITY: Final = Reason.AFFINITY


@dataclass(frozen=True, slots=True)
class Policy:
    """This gateway's own narrowing. sites: where requests may be served at all; None leaves it to Grid."""

    sites: frozenset[str] | None = None
    spread: Spread = Spread.DETERMINISTIC


@dataclass(slots=True)
class Asked:
    """What one request wants, and how far it has come. It and what follows from it are made for every
    request and not frozen: freezing triples what making one costs. Nobody changes them.

    allowed: names its tenant may use; None leaves that to an earlier filter.
    tried: stable_ids that have failed for this very request.
    turn, spread_key: what the two ways of spreading go by; spread_key may be a hash of anything.
    """

    kind: str
    name: str
    allowed: Container[str] | None = None
    tried: Collection[str] = ()
    turn: int = 0
    spread_key: bytes = b""


ANYWHERE = Policy()


def select(
    snapshot: Snapshot,
    asked: Asked,
    policy: Policy = ANYWHERE,
    *,
    key: bytes | None = None,
    bound: str | None = None,
    usable: bool = True,
) -> Decision:
    """key: the session's affinity key; None without a session, and with affinity off. bound: stable_id of the
    candidate the session is bound to. usable: whether the snapshot may serve, as `freshness` judged it."""
    if asked.allowed is not None and not is_authorized(asked):
        return Decision(None, Reason.FORBIDDEN, 0)
    if not usable:
        return Decision(None, Reason.EXPIRED, 0)
    route = capability(snapshot, asked)
    if route is None:
        return Decision(None, Reason.UNKNOWN, 0)
    open_ = route.choices
    if asked.tried or policy.sites is not None:
        left = untried(resident(route.candidates, policy.sites), asked.tried)
        open_ = choices(left, tiered=route.tiered)
    if not route.tiered:
        key = bound = None
    held = None if bound is None else established(open_, bound)
    if held is not None:
        return held
    if open_.first is None:
        return Decision(None, _refusal(route, asked, policy), len(route.candidates))
    return prefer(open_, open_.first, asked, policy.spread, key)


def is_authorized(asked: Asked) -> bool:
    """Step 1. A name that is not allowed is forbidden whether it exists or not: its existence is not told."""
    return asked.allowed is None or asked.name in asked.allowed


def capability(snapshot: Snapshot, asked: Asked) -> Route | None:
    """Step 2. None: no overlay names it. The route holds only candidates this gateway was configured to
    reach, which is what it trusts."""
    return snapshot.routes.get((asked.kind, asked.name))


def established(open_: Choices, bound: str) -> Decision | None:
    """Step 6. The candidate the session is bound to, while it takes existing work: no better candidate, and
    none that came back, pulls a session away."""
    return open_.held.get(bound)


def prefer(open_: Choices, first: Decision, asked: Asked, spread: Spread, key: bytes | None) -> Decision:
    """Step 9. One of the equals, at least one, by the session, else by the spread, else *first*, the first in
    rank."""
    if key is not None:
        return Decision(rendezvous(key, open_.equals, open_.frames), _AFFINITY, first.considered)
    if spread is _DETERMINISTIC or first.considered == 1:
        return first
    if spread is _ROUND_ROBIN:
        chosen = open_.equals[asked.turn % first.considered]
    else:
        chosen = rendezvous(asked.spread_key, open_.equals, open_.frames)
    return Decision(chosen, Reason.SPREAD, first.considered)


def _refusal(route: Route, asked: Asked, policy: Policy) -> Reason:
    """The first gate that nobody passed."""
    if not route.candidates:
        return Reason.UNCONFIGURED
    allowed = resident(route.candidates, policy.sites)
    if not allowed:
        return Reason.NOT_RESIDENT
    if any(candidate.stable_id in asked.tried for candidate in allowed):
        return Reason.EXHAUSTED
    return Reason.CLOSED
