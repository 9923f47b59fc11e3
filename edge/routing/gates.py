"""The gates of a selection: each takes candidates in Grid's order and gives back those that pass, in it.

Some depend on the request (`resident`, `untried`), the others on the snapshot alone; `Choices` is what the
latter leave of a set of candidates. A snapshot holds it ready for each of its routes, since most requests are
narrowed no further, and with it the decisions that follow from it alone. A gate that lets everybody pass
gives back the very tuple it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from edge.routing.affinity import lp
from edge.routing.decision import Decision, Reason
from grid.contract.overlay import Admission, Candidate

Candidates = tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """held: stable_id -> the decision for a session bound to it, of those that honour their bindings. equals:
    among whom a new request is placed, Grid's first first; empty when nobody is open. frames: what affinity
    hashes of each of them. first: the decision for Grid's first; None when nobody is open."""

    held: Mapping[str, Decision]
    equals: Candidates
    frames: tuple[bytes, ...]
    first: Decision | None


def choices(candidates: Candidates, *, tiered: bool) -> Choices:
    """Without tiers nothing says who is equivalent, and Grid's first stands alone."""
    new = fresh_first(open_to_new(candidates))
    equals = best_tier(new) if tiered else new[:1]
    return Choices(
        {each.stable_id: Decision(each, Reason.BOUND, 1) for each in open_to_existing(candidates)},
        equals,
        tuple(lp(candidate.stable_id.encode()) for candidate in equals),
        Decision(equals[0], Reason.RANK, len(equals)) if equals else None,
    )


def resident(candidates: Candidates, sites: frozenset[str] | None) -> Candidates:
    """Grid has already left out whom residency forbids; the gateway may allow fewer sites still."""
    if sites is None:
        return candidates
    return tuple(candidate for candidate in candidates if candidate.site in sites)


def untried(candidates: Candidates, tried: Collection[str]) -> Candidates:
    """Who failed for this request is not asked a second time by it."""
    if not tried:
        return candidates
    return tuple(candidate for candidate in candidates if candidate.stable_id not in tried)


def open_to_existing(candidates: Candidates) -> Candidates:
    """For sessions already bound."""
    return tuple(candidate for candidate in candidates if candidate.admission is not Admission.NONE)


def open_to_new(candidates: Candidates) -> Candidates:
    """For everything else."""
    return tuple(candidate for candidate in candidates if candidate.admission is Admission.NEW_AND_EXISTING)


def fresh_first(candidates: Candidates) -> Candidates:
    """The fresh ones; the stale ones only where no candidate is fresh."""
    return tuple(candidate for candidate in candidates if candidate.fresh) or candidates


def best_tier(candidates: Candidates) -> Candidates:
    """Those of the first one's tier, whom Grid calls equivalent; none of none."""
    return tuple(candidate for candidate in candidates if candidate.tier is candidates[0].tier)
