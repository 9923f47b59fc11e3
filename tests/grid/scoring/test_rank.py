"""Order as the plan's tests name it; total, stable, the same however the offers come in, and steady under wiggle."""

from __future__ import annotations

import dataclasses
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.overlay import ADMISSION_ORDER, TIER_ORDER, Admission, Tier
from grid.scoring.admission import Reason
from grid.scoring.distance import NOWHERE, Place, distance
from grid.scoring.gates import Refusal
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness, Offer, View
from grid.scoring.rank import DEAD_BAND, Order, Placed, Preference, Ranking, rank
from grid.scoring.signals import PRESETS, Category, Signals, Weights
from tests.kit.offers import EAST, EDGE_EAST, EDGE_WEST, WEST, offer

GEOGRAPHY, SCORE = Preference(Order.GEOGRAPHY_FIRST), Preference(Order.SCORE_FIRST)
BUSY, IDLE = Signals(queue=0.8, kv_cache=0.6), Signals(queue=0.0, kv_cache=0.0)


def sites(ranking: Ranking) -> list[str]:
    return [placed.offer.place.site for placed in ranking.ranked]


@pytest.mark.parametrize(
    ("offers", "view", "preference", "expected"),
    [
        pytest.param(
            [offer(WEST), offer(EAST)],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-east", "provider-west"],
            id="edge-east prefers provider-east over provider-west with equal metrics",
        ),
        pytest.param(
            [offer(EAST), offer(WEST)],
            EDGE_WEST,
            GEOGRAPHY,
            ["provider-west", "provider-east"],
            id="edge-west prefers provider-west",
        ),
        pytest.param(
            [offer(EAST, phase=Phase.UNAVAILABLE), offer(WEST)],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-west"],
            id="unavailable same-region provider is excluded",
        ),
        pytest.param(
            [offer(EAST, freshness=Freshness.STALE, admission=Admission.EXISTING_ONLY), offer(WEST)],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-west", "provider-east"],
            id="stale same-region provider loses to fresh cross-region provider",
        ),
        pytest.param(
            [offer(EAST, freshness=Freshness.STALE, admission=Admission.EXISTING_ONLY), offer(WEST)],
            EDGE_EAST,
            SCORE,
            ["provider-west", "provider-east"],
            id="stale same-region provider loses to fresh cross-region provider, score first",
        ),
        pytest.param(
            [offer(EAST, BUSY), offer(WEST, IDLE)],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-east", "provider-west"],
            id="a busy same-region versus idle cross-region decision: geography first stays near while it is open",
        ),
        pytest.param(
            [
                offer(EAST, BUSY, admission=Admission.EXISTING_ONLY, reason=Reason.OVERLOADED),
                offer(WEST, IDLE),
            ],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-west", "provider-east"],
            id="a busy same-region versus idle cross-region decision: geography first goes far once admission closes",
        ),
        pytest.param(
            [offer(EAST, BUSY), offer(WEST, IDLE)],
            EDGE_EAST,
            SCORE,
            ["provider-west", "provider-east"],
            id="a busy same-region versus idle cross-region decision follows documented scoring weights, score first",
        ),
        pytest.param(
            [offer(EAST, Signals(queue=0.2, kv_cache=0.1)), offer(WEST, IDLE)],
            EDGE_EAST,
            SCORE,
            ["provider-east", "provider-west"],
            id="slightly busy and near is worth more than idle and far, score first",
        ),
        pytest.param(
            [offer(EAST, access=(("tier", "gold"),)), offer(WEST)],
            dataclasses.replace(EDGE_EAST, labels={"tier": "silver"}),
            GEOGRAPHY,
            ["provider-west"],
            id="provider access policy evaluates the edge site's labels",
        ),
        pytest.param(
            [offer(EAST, category=Category.API_PROVIDER), offer(Place("other-east", "us-east"))],
            EDGE_EAST,
            GEOGRAPHY,
            ["other-east", "provider-east"],
            id="own capacity comes before a third party's at the same distance",
        ),
        pytest.param(
            [offer(EAST), offer(Place("nowhere-said")), offer(WEST)],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-east", "provider-west", "nowhere-said"],
            id="a provider that says no region stands last",
        ),
        pytest.param(
            [offer(EAST, IDLE, freshness=Freshness.STALE), offer(EAST, IDLE, cluster="a-fresh-one")],
            EDGE_EAST,
            GEOGRAPHY,
            ["provider-east", "provider-east"],
            id="two at one site are both there",
        ),
    ],
)
def test_order(offers: list[Offer], view: View, preference: Preference, expected: list[str]) -> None:
    assert sites(rank(offers, view, preference)) == expected


def test_the_computed_flip_of_busy_near_against_idle_far() -> None:
    """Score first: 3.0 x 0.7 + 3.0 x 0.2 + 2.0 x 0.4 near, 3.0 x 0.4 + 3.0 + 2.0 far; the rest is equal."""
    far, near = rank([offer(EAST, BUSY), offer(WEST, IDLE)], EDGE_EAST, SCORE).ranked
    assert near.score == pytest.approx(2.1 + 0.6 + 0.8 + 2.5)
    assert far.score == pytest.approx(1.2 + 3.0 + 2.0 + 2.5)


def test_an_edge_that_is_nowhere_sees_everything_at_an_unknown_distance() -> None:
    ranking = rank([offer(EAST), offer(WEST)], View(NOWHERE), GEOGRAPHY)
    assert {placed.tier for placed in ranking.ranked} == {Tier.UNKNOWN}


def test_without_metrics_an_order_is_distance_and_then_the_stable_id() -> None:
    preference = Preference(weights=PRESETS["noMetrics"])
    twins = [offer(Place(site, "us-east"), weights=PRESETS["noMetrics"]) for site in ("a", "b", "c")]
    expected = sorted(twins, key=lambda twin: twin.stable_id)
    assert [placed.offer for placed in rank(twins, EDGE_EAST, preference).ranked] == expected


def test_freshness_breaks_a_tie_of_score() -> None:
    stale = offer(EAST, cluster="a", freshness=Freshness.STALE)
    for twin in (offer(EAST, cluster=letter) for letter in "bcdef"):
        assert rank([stale, twin], EDGE_EAST, GEOGRAPHY).ranked[0].offer == twin


def test_who_was_refused_is_said_with_the_reason() -> None:
    down, closed = offer(EAST, phase=Phase.UNAVAILABLE), offer(WEST, admission=Admission.NONE)
    ranking = rank([closed, down], EDGE_EAST, GEOGRAPHY)
    assert ranking.ranked == ()
    assert {(item.offer.place.site, item.refusal) for item in ranking.refused} == {
        ("provider-east", Refusal.PROVIDER_UNAVAILABLE),
        ("provider-west", Refusal.ADMISSION_CLOSED),
    }


def test_of_two_providers_that_are_one_candidate_the_first_by_name_is_kept() -> None:
    first, second = offer(EAST, BUSY, provider="a"), offer(EAST, IDLE, provider="b")
    ranking = rank([second, first], EDGE_EAST, GEOGRAPHY)
    assert [placed.offer for placed in ranking.ranked] == [first]
    assert ranking.duplicates == (second,)


def test_of_two_providers_that_are_one_candidate_the_one_that_is_up_is_kept() -> None:
    first, second = offer(EAST, provider="a", phase=Phase.UNAVAILABLE), offer(EAST, provider="b")
    ranking = rank([second, first], EDGE_EAST, GEOGRAPHY)
    assert [placed.offer for placed in ranking.ranked] == [second]
    assert ranking.duplicates == ()


REGIONS = st.sampled_from(["", "us-east", "eu-west"])
PLACES = st.builds(Place, st.sampled_from(["edge", "a", "b", "c"]), REGIONS, st.sampled_from(["", "z"]))
SHARES = st.none() | st.sampled_from([0.0, 0.1, 0.15, 0.5, 0.55, 0.9])
KNOWN = (Tier.SAME_SITE, Tier.SAME_ZONE, Tier.SAME_REGION, Tier.CROSS_REGION)
EDGE = View(Place("edge", "us-east", "z"))
AT = {
    Tier.SAME_SITE: Place("edge", "us-east", "z"),
    Tier.SAME_ZONE: Place("near", "us-east", "z"),
    Tier.SAME_REGION: Place("same", "us-east", "y"),
    Tier.CROSS_REGION: Place("far", "eu-west", "z"),
}


@st.composite
def offer_lists(draw: st.DrawFn) -> list[Offer]:
    return [
        offer(
            draw(PLACES),
            Signals(draw(SHARES), draw(SHARES)),
            cluster=f"c{number}",
            category=draw(st.sampled_from(Category)),
            phase=draw(st.sampled_from(Phase)),
            freshness=draw(st.sampled_from(Freshness)),
            admission=draw(st.sampled_from(Admission)),
        )
        for number in range(draw(st.integers(0, 8)))
    ]


PREFERENCES = st.builds(
    Preference, st.sampled_from(Order), st.sampled_from([Weights(), *PRESETS.values()]), st.just(DEAD_BAND)
)


@given(offer_lists(), PREFERENCES, st.randoms(use_true_random=False), st.booleans())
def test_the_order_is_total_and_the_same_however_offers_come_in(
    offers: list[Offer],
    preference: Preference,
    random: Random,
    remembered: bool,
) -> None:
    shuffled = list(offers)
    random.shuffle(shuffled)
    previous = {item.stable_id: place for place, item in enumerate(offers[::2])} if remembered else {}
    ranking = rank(offers, EDGE, preference, previous)
    assert rank(shuffled, EDGE, preference, previous) == ranking
    assert len(ranking.ranked) + len(ranking.refused) == len(offers)


@given(offer_lists(), PREFERENCES)
def test_without_a_past_the_order_is_the_sort_key(offers: list[Offer], preference: Preference) -> None:
    ranked = rank(offers, EDGE, preference).ranked
    assert list(ranked) == sorted(ranked, key=lambda placed: sort_key(placed, preference.order))


@given(offer_lists(), PREFERENCES)
def test_an_order_that_stands_is_kept_when_ranked_again(offers: list[Offer], preference: Preference) -> None:
    first = rank(offers, EDGE, preference)
    assert rank(offers, EDGE, preference, positions(first)) == first


@given(st.lists(st.floats(-DEAD_BAND / 2, DEAD_BAND / 2), min_size=4, max_size=4), st.sampled_from(Order))
def test_a_wiggle_within_the_dead_band_changes_no_order(wiggle: list[float], order: Order) -> None:
    twins = [offer(Place(site, "us-east")) for site in "abcd"]
    first = rank(twins, EDGE, Preference(order))
    wiggled = [dataclasses.replace(twin, base=twin.base + by) for twin, by in zip(twins, wiggle, strict=True)]
    assert positions(rank(wiggled, EDGE, Preference(order), positions(first))) == positions(first)


@given(offer_lists(), PREFERENCES, st.data())
def test_two_that_were_there_swap_only_by_more_than_the_dead_band(
    offers: list[Offer], preference: Preference, data: st.DataObject
) -> None:
    old = data.draw(st.permutations(range(len(offers))))
    previous = {item.stable_id: place for place, item in zip(old, offers, strict=True)}
    ranked = rank(offers, EDGE, preference, previous).ranked
    for place, one in enumerate(ranked):
        for other in ranked[place + 1 :]:
            if hard(one, preference) == hard(other, preference):
                kept = previous[one.offer.stable_id] < previous[other.offer.stable_id]
                assert kept or one.score > other.score + DEAD_BAND


@given(
    offer_lists(),
    st.sampled_from(KNOWN),
    st.sampled_from(KNOWN),
    SHARES,
    st.sampled_from(Category),
    st.sampled_from(Order),
    st.data(),
)
def test_moving_a_provider_closer_never_lowers_it(
    others: list[Offer],
    one: Tier,
    other: Tier,
    queue: float | None,
    category: Category,
    order: Order,
    data: st.DataObject,
) -> None:
    """Over known distances; the one that moves keeps its identity and its past."""
    near, far = sorted((one, other), key=TIER_ORDER.__getitem__)
    moving = offer(AT[far], Signals(queue), cluster="moving", category=category)
    moved = dataclasses.replace(moving, place=AT[near])
    assert distance(EDGE.place, moved.place) is near
    ids = [item.stable_id for item in (*others, moving)]
    past = data.draw(st.permutations(ids))[: data.draw(st.integers(0, len(ids)))]
    previous = {stable_id: place for place, stable_id in enumerate(past)}
    preference = Preference(order)
    before = positions(rank([*others, moving], EDGE, preference, previous))[moving.stable_id]
    after = positions(rank([*others, moved], EDGE, preference, previous))[moving.stable_id]
    assert after <= before


def positions(ranking: Ranking) -> dict[str, int]:
    return {placed.offer.stable_id: place for place, placed in enumerate(ranking.ranked)}


def hard(placed: Placed, preference: Preference) -> tuple[object, ...]:
    return sort_key(placed, preference.order)[:2]


def sort_key(placed: Placed, order: Order) -> tuple[object, ...]:
    """The document's words: the order's parts, one by one, smaller standing first."""
    admission, tier = ADMISSION_ORDER[placed.admission], TIER_ORDER[placed.tier]
    if order is Order.GEOGRAPHY_FIRST:
        return (admission, tier, -placed.score, not placed.fresh, placed.offer.stable_id)
    return (admission, not placed.fresh, -placed.score, tier, placed.offer.stable_id)
