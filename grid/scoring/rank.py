"""The one order of a capability's candidates, as one gateway sees them; and why each stands where it stands.

    geographyFirst   admission, tier, score, freshness, stable_id
    scoreFirst       admission, freshness, score, tier, stable_id

The order is total: stable ids differ. It is also steady: two candidates whose scores differ by less than the
dead-band keep the order they had, so metrics that wiggle make no new revision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from grid.contract.overlay import ADMISSION_ORDER, TIER_ORDER, Admission, Tier
from grid.scoring.distance import Sight
from grid.scoring.gates import Refusal, admitted, refuse
from grid.scoring.offer import Freshness, Offer, View
from grid.scoring.signals import LOCALITY, Weights

# About two per cent of the largest score: what a scrape changes without anybody having done anything.
DEAD_BAND = 0.25


class Order(StrEnum):
    """Which comes first among candidates that are admitted alike: how near they are, or how good."""

    GEOGRAPHY_FIRST = "geographyFirst"
    SCORE_FIRST = "scoreFirst"


@dataclass(frozen=True, slots=True)
class Preference:
    """What a network prefers; `dead_band` is in score units."""

    order: Order = Order.GEOGRAPHY_FIRST
    weights: Weights = field(default_factory=Weights)
    dead_band: float = DEAD_BAND


class Placed(NamedTuple):
    """A candidate that passed the gates, with the parts of its sort key."""

    offer: Offer
    admission: Admission
    tier: Tier
    score: float
    fresh: bool


class Refused(NamedTuple):
    """An offer a gate kept out."""

    offer: Offer
    refusal: Refusal


# The sort key and the offer; a bare tuple, since there are 50,000. Stable ids differ, so no two offers are
# ever compared. Admission first, minus the score third, in either order.
Row = tuple[int, int, float, int, str, Offer]


@dataclass(frozen=True, slots=True)
class Ranking:
    """rows: what passed, best first. refused: by stable id.

    duplicates: offers that are the same candidate as a ranked one; the first provider by name is kept.
    """

    order: Order
    rows: tuple[Row, ...]
    refused: tuple[Refused, ...] = ()
    duplicates: tuple[Offer, ...] = ()

    @property
    def ranked(self) -> tuple[Placed, ...]:
        """All that passed, best first, in words."""
        return tuple(map(self.placed, range(len(self.rows))))

    def placed(self, place: int) -> Placed:
        """The candidate at *place*, 0 being the best."""
        admission, second, minus_score, fourth, _, offer = self.rows[place]
        stale, tier = (fourth, second) if self.order is Order.GEOGRAPHY_FIRST else (second, fourth)
        return Placed(offer, _ADMISSIONS[admission], _TIERS[tier], -minus_score, not stale)


_FRESH = Freshness.FRESH
_ADMISSIONS, _TIERS = tuple(ADMISSION_ORDER), tuple(TIER_ORDER)
_BY_IDENTITY = attrgetter("stable_id", "provider")


def rank(
    offers: Iterable[Offer],
    view: View,
    preference: Preference,
    previous: Mapping[str, int] | None = None,
    sight: Sight | None = None,
) -> Ranking:
    """The order of *offers*, all of one capability.

    previous: stable id -> rank in the last overlay of this gateway; None or empty if there was none.
    sight: from the view's place, kept by whoever ranks more than once.
    """
    passed: dict[str, Offer] = {}
    refused: list[Refused] = []
    duplicates: list[Offer] = []
    for offer in offers:
        refusal = refuse(offer, view)
        if refusal is not None:
            refused.append(Refused(offer, refusal))
            continue
        twin = passed.setdefault(offer.stable_id, offer)
        if twin is not offer:
            passed[offer.stable_id], left_out = sorted((twin, offer), key=_BY_IDENTITY)
            duplicates.append(left_out)
    refused.sort(key=lambda item: _BY_IDENTITY(item.offer))
    duplicates.sort(key=_BY_IDENTITY)
    rows = _rows(passed, view, preference, sight or Sight(view.place))
    ordered = _ordered(rows, preference, previous or {})
    return Ranking(preference.order, tuple(ordered), tuple(refused), tuple(duplicates))


def _rows(passed: Mapping[str, Offer], view: View, preference: Preference, sight: Sight) -> list[Row]:
    """The sort key of each, smaller standing first, and the offer behind it."""
    locality, by_geography = preference.weights.locality, preference.order is Order.GEOGRAPHY_FIRST
    rows: list[Row] = []
    for stable_id, offer in passed.items():
        tier = sight.tier(offer.place)
        worth = -(offer.base + locality * LOCALITY[offer.category][tier])
        admission, nearness = ADMISSION_ORDER[admitted(offer, view)], TIER_ORDER[tier]
        stale = 0 if offer.freshness is _FRESH else 1
        if by_geography:
            rows.append((admission, nearness, worth, stale, stable_id, offer))
        else:
            rows.append((admission, stale, worth, nearness, stable_id, offer))
    return rows


def _ordered(rows: list[Row], preference: Preference, previous: Mapping[str, int]) -> list[Row]:
    if previous and any(row[4] in previous for row in rows):
        return _steadied(rows, preference.dead_band, previous)
    rows.sort()
    return rows


def _steadied(rows: list[Row], dead_band: float, previous: Mapping[str, int]) -> list[Row]:
    """Insertion in the order that was, newcomers last: each walks forward past what it beats.

    The first two parts of a key are hard; behind them stands the score. Of two that were there before, one
    beats the other only by more than the dead-band; a newcomer beats and is beaten by any difference.
    """
    first = len(previous)
    order: list[Row] = []
    for row in sorted(rows, key=lambda row: (row[:2], previous.get(row[4], first), row)):
        place = len(order)
        while place and _beats(row, order[place - 1], dead_band, previous):
            place -= 1
        order.insert(place, row)
    return order


def _beats(one: Row, other: Row, dead_band: float, previous: Mapping[str, int]) -> bool:
    if one[:2] != other[:2]:
        return False
    if one[4] in previous and other[4] in previous:
        return -one[2] > dead_band - other[2]
    return one < other
