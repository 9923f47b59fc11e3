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

from edge.routing.affinity import rendezvous
from edge.routing.gates import Choices, choices, resident, untried
from edge.routing.snapshot import Route, Snapshot
from grid.contract.overlay import Candidate


class Reason(StrEnum):
    """Why this candidate, or why none; values are metric labels and log fields."""

    BOUND = "bound"
    AFFINITY = "affinity"
    SPREAD = "spread"
    RANK = "rank"
    FORBIDDEN = "forbidden"
    EXPIRED = "overlay_expired"
    UNKNOWN = "unknown_capability"
    UNCONFIGURED = "no_configured_cluster"
    NOT_RESIDENT = "no_allowed_site"
    EXHAUSTED = "all_candidates_failed"
    CLOSED = "no_candidate_open"


class Spread(StrEnum):
    """How requests without a session are shared among equals. DETERMINISTIC: Grid's first takes all.
    ROUND_ROBIN: in turns. RENDEZVOUS: by the request's own key."""

    DETERMINISTIC = "deterministic"
    ROUND_ROBIN = "round_robin"
    RENDEZVOUS = "rendezvous"


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


@dataclass(slots=True)
class Decision:
    """candidate: None when the request is refused. considered: among how many the reason chose; of a
    refusal, how many candidates the capability has here."""

    candidate: Candidate | None
    reason: Reason
    considered: int

    @property
    def binds(self) -> bool:
        """Whether the choice was made for a session, and is to be held for it."""
        return self.reason is Reason.AFFINITY or self.reason is Reason.BOUND


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
    if not is_authorized(asked):
        return Decision(None, Reason.FORBIDDEN, 0)
    if not usable:
        return Decision(None, Reason.EXPIRED, 0)
    route = capability(snapshot, asked)
    if route is None:
        return Decision(None, Reason.UNKNOWN, 0)
    left = untried(resident(route.candidates, policy.sites), asked.tried)
    open_ = route.choices if left is route.candidates else choices(left, tiered=route.tiered)
    if not route.tiered:
        key = bound = None
    held = established(open_, bound)
    if held is not None:
        return Decision(held, Reason.BOUND, 1)
    if not open_.equals:
        return Decision(None, _refusal(route, asked, policy), len(route.candidates))
    return prefer(open_, asked, policy.spread, key)


def is_authorized(asked: Asked) -> bool:
    """Step 1. A name that is not allowed is forbidden whether it exists or not: its existence is not told."""
    return asked.allowed is None or asked.name in asked.allowed


def capability(snapshot: Snapshot, asked: Asked) -> Route | None:
    """Step 2. None: no overlay names it. The route holds only candidates this gateway was configured to
    reach, which is what it trusts."""
    return snapshot.routes.get((asked.kind, asked.name))


def established(open_: Choices, bound: str | None) -> Candidate | None:
    """Step 6. The candidate the session is bound to, while it takes existing work: no better candidate, and
    none that came back, pulls a session away."""
    return None if bound is None else open_.existing.get(bound)


def prefer(open_: Choices, asked: Asked, spread: Spread, key: bytes | None) -> Decision:
    """Step 9. One of the equals, at least one, by the session, else by the spread, else the first in rank."""
    equals = open_.equals
    count = len(equals)
    if key is not None:
        return Decision(rendezvous(key, equals, open_.frames), Reason.AFFINITY, count)
    if count == 1 or spread is Spread.DETERMINISTIC:
        return Decision(equals[0], Reason.RANK, count)
    if spread is Spread.ROUND_ROBIN:
        return Decision(equals[asked.turn % count], Reason.SPREAD, count)
    return Decision(rendezvous(asked.spread_key, equals, open_.frames), Reason.SPREAD, count)


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
