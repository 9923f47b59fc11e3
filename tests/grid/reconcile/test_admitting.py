"""Freshness needs a living site and young facts; the hardest limit holds; pressure is what is looked at."""

from __future__ import annotations

import dataclasses

import pytest

from grid.contract.overlay import Admission
from grid.reconcile.admitting import Rules, Standpoint, fresh, limit, pressure, step
from grid.reconcile.world import Capacity, Drain, Member, Membership
from grid.scoring.admission import Policy, Reason, unseen
from grid.scoring.distance import Place
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness
from grid.scoring.signals import Signals, Weights
from tests.kit.worlds import NOW, capacity

HERE = Standpoint(Place("provider-east"), verified=True)
RULES = Rules(Policy(), "combined", Weights(), ttl_s=300.0)


def told(state: Membership | None, since: float = NOW - 10) -> Standpoint:
    member = None if state is None else Member(state, since)
    return dataclasses.replace(HERE, told=True, member=member)


@pytest.mark.parametrize(
    ("what", "standpoint", "freshness"),
    [
        pytest.param(capacity(), HERE, Freshness.FRESH, id="measured here, now"),
        pytest.param(capacity(at=NOW - 30), HERE, Freshness.FRESH, id="30 s old"),
        pytest.param(capacity(at=NOW - 31), HERE, Freshness.STALE, id="31 s old"),
        pytest.param(capacity(at=NOW - 330), HERE, Freshness.STALE, id="stale for its whole time"),
        pytest.param(capacity(at=NOW - 331), HERE, Freshness.EXPIRED, id="stale for longer"),
        pytest.param(
            capacity(age_s=20, at=NOW - 11), HERE, Freshness.STALE, id="old when it came, and since"
        ),
        pytest.param(capacity(at=NOW - 50, fresh_for_s=60), HERE, Freshness.FRESH, id="fresh for longer"),
        pytest.param(capacity(), told(Membership.ALIVE), Freshness.FRESH, id="told by a living site"),
        pytest.param(capacity(), told(Membership.SUSPECT), Freshness.FRESH, id="told by a suspect one"),
        pytest.param(capacity(), told(Membership.DEAD), Freshness.STALE, id="its site died 10 s ago"),
        pytest.param(capacity(), told(Membership.DEAD, NOW), Freshness.STALE, id="its site died just now"),
        pytest.param(
            capacity(), told(Membership.DEAD, NOW - 301), Freshness.EXPIRED, id="its site died long ago"
        ),
        pytest.param(capacity(), told(Membership.LEFT), Freshness.STALE, id="its site left"),
        pytest.param(capacity(), told(None), Freshness.STALE, id="its site is not in the mesh"),
    ],
)
def test_freshness(what: Capacity, standpoint: Standpoint, freshness: Freshness) -> None:
    assert fresh(what, standpoint, 300.0, NOW) is freshness


GRACE = dataclasses.replace(HERE, grace=True)


@pytest.mark.parametrize(
    ("what", "standpoint", "freshness", "reason"),
    [
        pytest.param(capacity(), HERE, Freshness.FRESH, None, id="none"),
        pytest.param(
            capacity(drain=Drain.ALL, phase=Phase.UNAVAILABLE),
            HERE,
            Freshness.EXPIRED,
            Reason.DRAINED,
            id="drained",
        ),
        pytest.param(capacity(phase=Phase.UNAVAILABLE), HERE, Freshness.EXPIRED, Reason.UNHEALTHY, id="down"),
        pytest.param(capacity(), HERE, Freshness.EXPIRED, Reason.EXPIRED, id="expired"),
        pytest.param(
            capacity(drain=Drain.EXISTING_ONLY), HERE, Freshness.STALE, Reason.DRAINING, id="draining"
        ),
        pytest.param(capacity(phase=Phase.DEGRADED), HERE, Freshness.STALE, Reason.STALE, id="stale"),
        pytest.param(capacity(phase=Phase.DEGRADED), HERE, Freshness.FRESH, Reason.DEGRADED, id="degraded"),
        pytest.param(capacity(phase=Phase.PENDING), HERE, Freshness.FRESH, Reason.PENDING, id="pending"),
        pytest.param(capacity(phase=Phase.UNAVAILABLE), GRACE, Freshness.EXPIRED, None, id="in grace, down"),
        pytest.param(
            capacity(drain=Drain.ALL), GRACE, Freshness.FRESH, Reason.DRAINED, id="in grace, drained"
        ),
        pytest.param(
            capacity(drain=Drain.EXISTING_ONLY),
            GRACE,
            Freshness.FRESH,
            Reason.DRAINING,
            id="in grace, draining",
        ),
    ],
)
def test_the_hardest_limit(
    what: Capacity, standpoint: Standpoint, freshness: Freshness, reason: Reason | None
) -> None:
    found = limit(what, standpoint, freshness)
    assert (found.reason if found else None) is reason


@pytest.mark.parametrize(
    ("strategy", "signals", "expected"),
    [
        pytest.param("combined", Signals(queue=0.2, kv_cache=0.6), 0.6, id="the fullest of both"),
        pytest.param("combined", Signals(queue=0.2), 0.2, id="the one there is"),
        pytest.param("combined", Signals(prefix_hit=0.9), None, id="neither"),
        pytest.param("queueDepth", Signals(queue=0.2, kv_cache=0.6), 0.2, id="the queue alone"),
        pytest.param("kvCachePressure", Signals(queue=0.2), None, id="the cache alone, and it is missing"),
        pytest.param("noMetrics", Signals(queue=1.0), 0.0, id="nothing is looked at"),
    ],
)
def test_pressure(strategy: str, signals: Signals, expected: float | None) -> None:
    assert pressure(signals, strategy) == expected


def test_what_has_not_changed_keeps_its_offers() -> None:
    first = step(capacity(), HERE, unseen(NOW), None, RULES, NOW)
    again = step(capacity(), HERE, first.admitted, first, RULES, NOW + 1)
    assert again is first
    newer = step(capacity(reading=2, at=NOW + 2), HERE, again.admitted, again, RULES, NOW + 2)
    assert newer.offers == first.offers
    busier = step(capacity(signals=Signals(queue=0.5)), HERE, first.admitted, first, RULES, NOW + 1)
    assert busier.offers != first.offers


def test_a_step_that_only_counts_keeps_its_offers_too() -> None:
    first = step(capacity(measured=False), HERE, unseen(NOW), None, RULES, NOW)
    again = step(capacity(measured=False), HERE, first.admitted, first, RULES, NOW + 1)
    assert again.admitted.sample != first.admitted.sample
    assert again.offers is first.offers


def test_an_offer_for_each_model() -> None:
    found = step(capacity(models=("a", "b")), HERE, unseen(NOW), None, RULES, NOW)
    assert [offer.name for offer in found.offers] == ["a", "b"]
    assert {offer.admission for offer in found.offers} == {Admission.NEW_AND_EXISTING}
