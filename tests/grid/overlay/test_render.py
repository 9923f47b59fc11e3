"""Rendering is deterministic, per perspective, bounded, and counts revisions by content."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grid.contract.overlay import Admission, Credential, Overlay, Scope, Tier
from grid.contract.parse import parse
from grid.contract.write import write
from grid.overlay.render import MAX_ROUTED_BYTES, Memo, next_revision, render
from grid.overlay.target import Rendered, Target
from grid.scoring.admission import Reason
from grid.scoring.distance import NOWHERE, Place
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness, Offer, View
from grid.scoring.rank import Order, Preference
from grid.scoring.signals import Signals
from tests.kit.offers import EAST, EDGE_EAST, EDGE_WEST, WEST, offer

GOLDEN = Path(__file__).parents[2] / "golden"
NOW = 1_784_980_800.0
GEOGRAPHY = Preference()
CREDENTIAL = Credential("bearer_token", "grid-system", "provider-credential", "token")
EAST_A = offer(EAST, cluster="gateway-provider-east-a", credential=CREDENTIAL, provider="sim-a")
EAST_B = offer(EAST, cluster="gateway-provider-east-b", provider="sim-b")
CLOSING = offer(WEST, name="closing-model", admission=Admission.EXISTING_ONLY, reason=Reason.OVERLOADED)
LOST = offer(
    EAST,
    name="closing-model",
    freshness=Freshness.STALE,
    admission=Admission.EXISTING_ONLY,
    reason=Reason.STALE,
)
GRID = [EAST_A, EAST_B, offer(WEST), CLOSING, LOST]


def target(view: View = EDGE_EAST, **changes: object) -> Target:
    site = view.place.site or "edge-lost"
    found = Target("grid-1", "production", f"public-{site}", site, view, max_age_s=300.0)
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


def by_capability(offers: list[Offer]) -> dict[tuple[str, str], list[Offer]]:
    found: dict[tuple[str, str], list[Offer]] = {}
    for item in offers:
        found.setdefault((item.kind, item.name), []).append(item)
    return found


def rendered(
    offers: list[Offer],
    view: View = EDGE_EAST,
    previous: Overlay | None = None,
    now: float = NOW,
    memo: Memo | None = None,
) -> Rendered:
    return render(target(view), by_capability(offers), GEOGRAPHY, previous, now, memo)


def sites(found: Rendered) -> list[str]:
    return [candidate.site for candidate in found.overlay.candidates]


@pytest.mark.parametrize(("name", "view"), [("edge-east", EDGE_EAST), ("edge-west", EDGE_WEST)])
def test_the_same_grid_looks_different_from_two_edges(name: str, view: View) -> None:
    golden = (GOLDEN / f"overlay-{name}.json").read_bytes()
    assert write(rendered(GRID, view).overlay).decode() == golden.decode()


@pytest.mark.parametrize(("view"), [EDGE_EAST, EDGE_WEST, View(NOWHERE)])
def test_what_is_rendered_its_readers_accept(view: View) -> None:
    overlay = rendered(GRID, view).overlay
    scope = Scope("production", overlay.gateway, overlay.site)
    assert parse(write(overlay), expected=scope, now=NOW) == overlay


@pytest.mark.parametrize(
    ("offers", "view", "expected"),
    [
        pytest.param(
            [offer(EAST), offer(WEST)], EDGE_EAST, ["provider-east", "provider-west"], id="from the east"
        ),
        pytest.param(
            [offer(EAST), offer(WEST)], EDGE_WEST, ["provider-west", "provider-east"], id="from the west"
        ),
        pytest.param(
            [offer(EAST), offer(WEST)],
            dataclasses.replace(EDGE_EAST, labels={"x-region": "eu-west", "region": "eu-west"}),
            ["provider-east", "provider-west"],
            id="spoofed request location cannot affect ordering",
        ),
        pytest.param(
            [offer(EAST, phase=Phase.UNAVAILABLE)], EDGE_EAST, [], id="nothing eligible is authoritative"
        ),
        pytest.param([], EDGE_EAST, [], id="nothing offered is authoritative"),
    ],
)
def test_candidates(offers: list[Offer], view: View, expected: list[str]) -> None:
    found = rendered(offers, view)
    assert sites(found) == expected
    assert parse(write(found.overlay)).revision == 1


def test_selection_tiers_preserve_policy_health_residency_and_location_ordering() -> None:
    """Worst first in the list; each stands behind all that are nearer, and what a gate refuses is not there."""
    sovereign = View(Place("edge", "eu", "z", "eu"))
    places = [
        Place("unknown", "", "", "eu"),
        Place("far", "us", "", "eu"),
        Place("region", "eu", "y", "eu"),
        Place("zone", "eu", "z", "eu"),
        Place("edge", "eu", "z", "eu"),
    ]
    offers = [
        *(offer(place) for place in places),
        offer(Place("down", "eu", "z", "eu"), phase=Phase.UNAVAILABLE),
        offer(Place("abroad", "eu", "z", "us")),
        offer(Place("private", "eu", "z", "eu"), access=(("team", "a"),)),
        offer(Place("closing", "eu", "z", "eu"), admission=Admission.EXISTING_ONLY),
    ]
    found = rendered(offers, sovereign).overlay.candidates
    assert [(candidate.site, candidate.tier) for candidate in found] == [
        ("edge", Tier.SAME_SITE),
        ("zone", Tier.SAME_ZONE),
        ("region", Tier.SAME_REGION),
        ("far", Tier.CROSS_REGION),
        ("unknown", Tier.UNKNOWN),
        ("closing", Tier.SAME_ZONE),
    ]
    assert [candidate.rank for candidate in found] == list(range(6))


def test_a_candidates_stable_identity_does_not_change_when_its_list_position_changes() -> None:
    busy = dataclasses.replace(EAST_A, admission=Admission.EXISTING_ONLY)
    before, after = rendered([EAST_A, EAST_B]), rendered([busy, EAST_B])
    place = {
        found: next(c for c in found.overlay.candidates if c.cluster == EAST_A.cluster)
        for found in (before, after)
    }
    assert place[before].stable_id == place[after].stable_id
    assert after.overlay.candidates.index(place[after]) == 1


@given(st.randoms(use_true_random=False))
def test_the_same_grid_is_the_same_bytes(random: Random) -> None:
    shuffled = list(GRID)
    random.shuffle(shuffled)
    assert write(rendered(shuffled).overlay) == write(rendered(GRID).overlay)


def worse(one: Offer) -> Offer:
    return dataclasses.replace(one, admission=Admission.EXISTING_ONLY)


def wiggled(one: Offer) -> Offer:
    return dataclasses.replace(one, signals=Signals(queue=0.21), base=one.base - 0.03)


@pytest.mark.parametrize(
    ("offers", "later_s", "max_age_s", "revision", "due"),
    [
        pytest.param(GRID, 10, 300, 1, False, id="nothing changed"),
        pytest.param([wiggled(one) for one in GRID], 10, 300, 1, False, id="scores wiggled"),
        pytest.param([worse(EAST_A), *GRID[1:]], 10, 300, 2, True, id="an admission changed"),
        pytest.param(GRID[1:], 0, 300, 2, True, id="a candidate went"),
        pytest.param([], 0, 300, 2, True, id="all candidates went"),
        pytest.param(GRID, 149, 300, 1, False, id="just before half its life"),
        pytest.param(GRID, 150, 300, 1, True, id="at half its life it is stamped anew"),
        pytest.param(GRID, 10, 60, 1, True, id="another length of life is promised"),
        pytest.param(GRID, -10, 300, 1, True, id="the last writer's clock ran ahead"),
    ],
)
def test_revision_and_validity(
    offers: list[Offer], later_s: float, max_age_s: float, revision: int, due: bool
) -> None:
    first = rendered(GRID).overlay
    now = NOW + later_s
    found = render(target(max_age_s=max_age_s), by_capability(offers), GEOGRAPHY, first, now)
    assert (found.overlay.revision, found.due) == (revision, due)
    assert found.overlay.generated_at == (now if due else NOW)
    assert found.overlay.max_age_s == max_age_s
    assert due or write(found.overlay) == write(first)


def test_a_revision_goes_on_from_what_is_stored() -> None:
    stored = dataclasses.replace(rendered(GRID).overlay, revision=41)
    assert next_revision(stored, "sha256:other") == 42
    assert next_revision(stored, stored.digest) == 41
    assert next_revision(dataclasses.replace(stored, revision=None), "sha256:other") == 1


def test_an_order_that_stood_stands_while_scores_stay_within_the_dead_band() -> None:
    first = rendered([EAST_A, EAST_B]).overlay
    last = first.candidates[1].cluster
    better = [
        dataclasses.replace(one, base=one.base + 0.2 * (one.cluster == last)) for one in (EAST_A, EAST_B)
    ]
    assert not rendered(better, previous=first, now=NOW + 1).due
    best = [dataclasses.replace(one, base=one.base + 0.3 * (one.cluster == last)) for one in (EAST_A, EAST_B)]
    assert rendered(best, previous=first, now=NOW + 1).overlay.candidates[0].cluster == last


def test_duplicates_are_left_out_and_named() -> None:
    twin = dataclasses.replace(EAST_A, provider="sim-z")
    found = rendered([twin, EAST_A, EAST_B])
    assert (len(found.overlay.candidates), found.duplicates) == (2, ("sim-z",))


def test_beyond_1024_the_lowest_ranked_of_any_model_go() -> None:
    many = [
        offer(Place(f"s{number}", "us-east"), name=f"m{model}", cluster=f"c{number}")
        for model in range(3)
        for number in range(400)
    ]
    found = rendered(many)
    assert (len(found.overlay.candidates), found.dropped) == (1024, 176)
    ranks = [candidate.rank for candidate in found.overlay.candidates if candidate.name == "m2"]
    assert ranks == list(range(341))
    assert len(parse(write(found.overlay)).candidates) == 1024


def test_a_document_fits_its_configmap() -> None:
    long = [offer(Place(f"{number:04}" + "é" * 124, "us-east"), cluster="c" * 256) for number in range(1024)]
    credential = Credential("bearer_token", "n" * 250, "s" * 250, "k" * 250)
    found = rendered([dataclasses.replace(one, credential=credential) for one in long])
    assert found.dropped > 0
    assert len(write(found.overlay)) < 1024 * 1024
    assert len(found.overlay.candidates) == 1024 - found.dropped


def test_the_byte_bound_leaves_short_names_alone() -> None:
    many = [offer(Place(f"site-{number}", "us-east"), credential=CREDENTIAL) for number in range(1024)]
    found = rendered(many)
    assert found.dropped == 0
    assert len(write(found.overlay)) < MAX_ROUTED_BYTES


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, len(GRID) - 1), st.sampled_from([worse, wiggled, None])), max_size=8)
)
def test_a_memo_changes_no_result(steps: list[tuple[int, object]]) -> None:
    """A grid that changes step by step, rendered with what was remembered and from scratch."""
    memo, offers = Memo(), list(GRID)
    kept = fresh = None
    for at, (place, change) in enumerate(steps):
        if change is None:
            offers = [one for one in GRID if one is not GRID[place]]
        elif place < len(offers):
            offers[place] = change(offers[place])  # type: ignore[operator]
        kept = rendered(offers, previous=kept, now=NOW + at, memo=memo).overlay
        fresh = rendered(offers, previous=fresh, now=NOW + at).overlay
        assert kept == fresh


def test_a_memo_forgets_when_the_view_or_preference_changes() -> None:
    memo = Memo()
    rendered(GRID, EDGE_EAST, memo=memo)
    assert sites(rendered(GRID, EDGE_WEST, memo=memo)) == sites(rendered(GRID, EDGE_WEST))
    score_first = Preference(Order.SCORE_FIRST)
    again = render(target(EDGE_WEST), by_capability(GRID), score_first, None, NOW, memo)
    assert again == render(target(EDGE_WEST), by_capability(GRID), score_first, None, NOW)
