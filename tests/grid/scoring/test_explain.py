"""`explain` says for every offer where it stands and why; the parts it names make the score."""

from __future__ import annotations

import pytest

from grid.contract.overlay import Admission
from grid.scoring.admission import Reason
from grid.scoring.distance import Place
from grid.scoring.explain import explain, parts
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness
from grid.scoring.rank import Preference, rank
from grid.scoring.signals import Signals
from tests.kit.offers import EAST, EDGE_EAST, WEST, offer


def test_explain() -> None:
    offers = [
        offer(EAST, Signals(0.5, 0.5, 0.5, 2500.0, 0.0), provider="sim-a"),
        offer(EAST, provider="sim-b"),
        offer(
            WEST, Signals(), freshness=Freshness.STALE, admission=Admission.EXISTING_ONLY, reason=Reason.STALE
        ),
        offer(Place("down"), phase=Phase.UNAVAILABLE),
    ]
    assert list(explain(rank(offers, EDGE_EAST, Preference()), Preference())) == [
        (
            "0  provider-east by gateway-provider-east: new_and_existing (open), same_region, fresh, score 7.60 = "
            "locality 2.10 + queue 1.50 + kv 1.00 + prefix 1.00 + latency 1.00 + cost 1.00"
        ),
        (
            "1  provider-west by gateway-provider-west: existing_only (stale), cross_region, stale, score 6.20 = "
            "locality 1.20 + queue 1.50 + kv 1.00 + prefix 1.00 + latency 1.00 + cost 0.50"
        ),
        "-  down by gateway-down: refused, provider_unavailable",
        "-  provider-east by gateway-provider-east: duplicate, sim-b is the same candidate",
    ]


def test_the_parts_make_the_score() -> None:
    (placed,) = rank([offer(EAST, Signals(0.3, 0.2, 0.9, 40.0, 0.01))], EDGE_EAST, Preference()).ranked
    assert parts(placed, Preference()).total == pytest.approx(placed.score)
