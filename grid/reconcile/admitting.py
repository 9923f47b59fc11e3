"""From capacities to offers: how fresh each is, what limits it, what its admission machine says.

Every provider of every site goes through the same machine, measured here or told by its own site. What has
not changed since the last time keeps its offers, object for object: ranking sees at a glance what is new.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from grid.contract.digest import stable_id
from grid.contract.names import INFERENCE_MODEL
from grid.contract.overlay import Admission
from grid.reconcile.world import Capacity, Drain, Member, Membership
from grid.scoring.admission import Admitted, Limit, Policy, Reason, Sample, admit, is_at_rest
from grid.scoring.distance import Place
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness, Offer
from grid.scoring.signals import Signals, Weights, score_anywhere

Key = tuple[str, str, str]

_AN_INSTANT_S = 1e-6
_DRAINED = Limit(Admission.NONE, Reason.DRAINED)
_DRAINING = Limit(Admission.EXISTING_ONLY, Reason.DRAINING)
_UNHEALTHY = Limit(Admission.NONE, Reason.UNHEALTHY)
_EXPIRED = Limit(Admission.NONE, Reason.EXPIRED)
_STALE = Limit(Admission.EXISTING_ONLY, Reason.STALE)
_DEGRADED = Limit(Admission.EXISTING_ONLY, Reason.DEGRADED)
_PENDING = Limit(Admission.EXISTING_ONLY, Reason.PENDING)


# Members by name: looked up through their classes they would cost more than what is done with them.
_FRESH, _IS_STALE, _IS_EXPIRED = Freshness.FRESH, Freshness.STALE, Freshness.EXPIRED
_UNAVAILABLE, _IS_DEGRADED, _IS_PENDING = Phase.UNAVAILABLE, Phase.DEGRADED, Phase.PENDING
_ALL, _EXISTING_ONLY = Drain.ALL, Drain.EXISTING_ONLY
_THERE = frozenset({Membership.ALIVE, Membership.SUSPECT})


@dataclass(frozen=True, slots=True)
class Rules:
    """One network's policy as numbers. strategy: which signals press. ttl_s: how long what is stale stays."""

    admission: Policy
    strategy: str
    weights: Weights
    ttl_s: float


@dataclass(frozen=True, slots=True)
class Standpoint:
    """What is known of a capacity's site.

    told: the capacity came by the mesh. member: that site in the mesh, None if it is not there.
    grace: this operator has only just begun, and narrows nothing it was not told to.
    """

    place: Place
    verified: bool
    told: bool = False
    member: Member | None = None
    grace: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A provider's last step: what it came from and what it gave.

    rests_until: before it, only another capacity, standpoint or set of rules can change anything.
    """

    capacity: Capacity
    standpoint: Standpoint
    rules: Rules
    freshness: Freshness
    admitted: Admitted
    offers: tuple[Offer, ...]
    rests_until: float


def key_of(capacity: Capacity) -> Key:
    return (capacity.network, capacity.site, capacity.provider)


def step(
    capacity: Capacity,
    standpoint: Standpoint,
    admitted: Admitted,
    kept: Kept | None,
    rules: Rules,
    now: float,
) -> Kept:
    """One provider's admission and offers at *now*; *kept* itself if nothing changed."""
    if kept is not None and now < kept.rests_until and _is_same(capacity, standpoint, kept, rules):
        return kept
    freshness = _FRESH if standpoint.grace else fresh(capacity, standpoint, rules.ttl_s, now)
    sample = _sample(capacity, rules.strategy, now)
    admitted = admit(admitted, sample, limit(capacity, standpoint, freshness), rules.admission, now)
    offers = None
    if (
        kept is not None
        and kept.rules == rules
        and kept.capacity == capacity
        and kept.standpoint == standpoint
        and kept.freshness is freshness
        and kept.admitted.state is admitted.state
        and kept.admitted.reason is admitted.reason
    ):
        if kept.admitted == admitted:
            return kept
        offers = kept.offers
    if offers is None:
        offers = tuple(_offers(capacity, standpoint, freshness, admitted, rules.weights))
    rests_until = _rests_until(capacity, standpoint, admitted, rules)
    return Kept(capacity, standpoint, rules, freshness, admitted, offers, rests_until)


def _is_same(capacity: Capacity, standpoint: Standpoint, kept: Kept, rules: Rules) -> bool:
    """The quick answer for the many that have brought nothing new: they are the very objects they were."""
    return kept.capacity is capacity and kept.standpoint is standpoint and kept.rules is rules


def _rests_until(capacity: Capacity, standpoint: Standpoint, admitted: Admitted, rules: Rules) -> float:
    """While it is open and its reading young, nothing happens to it by itself."""
    if not capacity.measured or standpoint.grace or not is_at_rest(admitted, rules.admission):
        return -math.inf
    return capacity.at + capacity.fresh_for_s - capacity.age_s


def fresh(capacity: Capacity, standpoint: Standpoint, ttl_s: float, now: float) -> Freshness:
    """Fresh: its site is alive and what is known is young. Expired: stale for longer than *ttl_s*."""
    stale_s = capacity.age_s + (now - capacity.at) - capacity.fresh_for_s
    if standpoint.told:
        stale_s = max(stale_s, _gone_s(standpoint.member, capacity, now))
    if stale_s <= 0:
        return _FRESH
    return _IS_EXPIRED if stale_s > ttl_s else _IS_STALE


def _gone_s(member: Member | None, capacity: Capacity, now: float) -> float:
    """How long its site has been away, never quite nought if it is; below that, it is there."""
    if member is not None and member.state in _THERE:
        return -1.0
    return max(now - (capacity.at if member is None else member.since), _AN_INSTANT_S)


def limit(capacity: Capacity, standpoint: Standpoint, freshness: Freshness) -> Limit | None:
    """The hardest limit that holds. In the grace of a new operator only what people ask for is one."""
    if capacity.drain is _ALL:
        return _DRAINED
    if not standpoint.grace:
        if capacity.phase is _UNAVAILABLE:
            return _UNHEALTHY
        if freshness is _IS_EXPIRED:
            return _EXPIRED
    if capacity.drain is _EXISTING_ONLY:
        return _DRAINING
    if standpoint.grace:
        return None
    if freshness is _IS_STALE:
        return _STALE
    if capacity.phase is _IS_DEGRADED:
        return _DEGRADED
    return _PENDING if capacity.phase is _IS_PENDING else None


def _sample(capacity: Capacity, strategy: str, now: float) -> Sample | None:
    """The newest reading as pressure. What is not measured is quiet, second after second."""
    if not capacity.measured:
        return Sample(int(now), 0.0)
    if capacity.reading is None:
        return None
    return Sample(capacity.reading, pressure(capacity.signals, strategy))


def pressure(signals: Signals, strategy: str) -> float | None:
    """The fullest of the signals *strategy* looks at; None if none of them is there."""
    if strategy == "noMetrics":
        return 0.0
    queue, kv_cache = signals.queue, signals.kv_cache
    if strategy == "queueDepth":
        return queue
    if strategy == "kvCachePressure" or queue is None:
        return kv_cache
    return queue if kv_cache is None else max(queue, kv_cache)


def _offers(
    capacity: Capacity, standpoint: Standpoint, freshness: Freshness, admitted: Admitted, weights: Weights
) -> list[Offer]:
    base = score_anywhere(capacity.signals, weights)
    return [
        Offer(
            kind=INFERENCE_MODEL,
            name=model,
            place=standpoint.place,
            cluster=capacity.cluster,
            stable_id=stable_id(INFERENCE_MODEL, model, capacity.site, capacity.cluster),
            provider=capacity.provider,
            category=capacity.category,
            access=capacity.access,
            trusted=standpoint.verified,
            phase=Phase.AVAILABLE if standpoint.grace else capacity.phase,
            freshness=freshness,
            admission=admitted.state,
            reason=admitted.reason,
            signals=capacity.signals,
            base=base,
            credential=capacity.credential,
        )
        for model in capacity.models
    ]


def by_capability(kept: Mapping[Key, Kept]) -> dict[tuple[str, str], list[Offer]]:
    """All offers, by (kind, name)."""
    found: dict[tuple[str, str], list[Offer]] = {}
    for provider in kept.values():
        for offer in provider.offers:
            found.setdefault((offer.kind, offer.name), []).append(offer)
    return found
