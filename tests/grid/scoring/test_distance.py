"""Distance comes from what both sites say; what is not said is unknown and never near."""

from __future__ import annotations

import pytest

from grid.contract.overlay import Tier
from grid.scoring.distance import NOWHERE, Place, distance

EDGE = Place("edge", "us-east", "1a")


@pytest.mark.parametrize(
    ("perspective", "provider", "tier"),
    [
        pytest.param(EDGE, Place("edge"), Tier.SAME_SITE, id="the same site, whatever else it says"),
        pytest.param(EDGE, Place("p", "us-east", "1a"), Tier.SAME_ZONE, id="the same zone"),
        pytest.param(EDGE, Place("p", "us-east", "1b"), Tier.SAME_REGION, id="another zone"),
        pytest.param(EDGE, Place("p", "us-east"), Tier.SAME_REGION, id="a provider without zone"),
        pytest.param(Place("edge", "r"), Place("p", "r", "1a"), Tier.SAME_REGION, id="an edge without zone"),
        pytest.param(Place("edge", "r"), Place("p", "r"), Tier.SAME_REGION, id="neither says a zone"),
        pytest.param(EDGE, Place("p", "eu-west", "1a"), Tier.CROSS_REGION, id="a zone of another region"),
        pytest.param(EDGE, Place("p", "", "1a"), Tier.UNKNOWN, id="a provider without region"),
        pytest.param(Place("edge"), Place("p", "us-east"), Tier.UNKNOWN, id="an edge without region"),
        pytest.param(Place("edge"), Place("p"), Tier.UNKNOWN, id="neither says a region"),
        pytest.param(NOWHERE, Place("p", "us-east"), Tier.UNKNOWN, id="an edge that is nowhere"),
        pytest.param(NOWHERE, NOWHERE, Tier.UNKNOWN, id="nowhere is not the same site as nowhere"),
    ],
)
def test_distance(perspective: Place, provider: Place, tier: Tier) -> None:
    assert distance(perspective, provider) is tier
