"""A snapshot is an overlay indexed once: in Grid's order, without what this gateway cannot reach."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.affinity import lp
from edge.routing.snapshot import index
from grid.contract.overlay import Candidate, Tier
from tests.kit.routing import KIND, MODEL, Everywhere, candidate, overlay, snapshot

FIVE = [candidate(site, rank) for rank, site in enumerate(["a", "b", "c", "d", "e"])]


@given(st.permutations(FIVE))
def test_the_order_is_grid_s_rank_whatever_the_document_s(shuffled: list[Candidate]) -> None:
    assert snapshot(*shuffled).routes[KIND, MODEL].candidates == tuple(FIVE)


@given(st.permutations([candidate(site, 0) for site in ("a", "b", "c")]))
def test_the_order_is_total_even_where_a_rank_stands_twice(shuffled: list[Candidate]) -> None:
    found = snapshot(*shuffled).routes[KIND, MODEL].candidates
    assert found == snapshot(*reversed(shuffled)).routes[KIND, MODEL].candidates


def test_capabilities_are_kind_and_name_together() -> None:
    model = candidate(name="search")
    tool = candidate(kind="mcp_tool", name="search")
    found = snapshot(model, tool).routes
    assert {key: route.candidates for key, route in found.items()} == {
        (KIND, "search"): (model,),
        ("mcp_tool", "search"): (tool,),
    }


def test_an_unknown_cluster_puts_its_candidate_aside_and_blocks_nothing() -> None:
    known, unknown = candidate("a"), candidate("b", 1)
    lost = candidate("c", name="other")
    found = index(overlay([known, unknown, lost]), {"gateway-a"}, 5.0)
    assert found.unconfigured == 2
    assert found.accepted_at == 5.0
    assert found.routes[KIND, MODEL].candidates == (known,)
    assert found.routes[KIND, MODEL].unconfigured == 1
    assert found.routes[KIND, "other"].candidates == ()


@pytest.mark.parametrize(
    ("tiers", "tiered"),
    [
        pytest.param([Tier.SAME_SITE, Tier.UNKNOWN], True, id="each says its tier"),
        pytest.param([None, None], False, id="an older document"),
        pytest.param([Tier.SAME_SITE, None], False, id="one does not"),
    ],
)
def test_a_route_is_tiered_when_each_of_its_candidates_says_so(
    tiers: list[Tier | None], tiered: bool
) -> None:
    found = [candidate(f"s{rank}", rank, tier=tier) for rank, tier in enumerate(tiers)]
    assert snapshot(*found).routes[KIND, MODEL].tiered is tiered


def test_one_model_without_tiers_takes_none_from_another() -> None:
    found = snapshot(candidate(), candidate(name="other", tier=None)).routes
    assert found[KIND, MODEL].tiered
    assert not found[KIND, "other"].tiered


def test_what_affinity_hashes_of_each_candidate_is_made_once() -> None:
    route = snapshot(*FIVE).routes[KIND, MODEL]
    assert route.choices.equals == tuple(FIVE)
    assert route.choices.frames == tuple(lp(found.stable_id.encode()) for found in FIVE)


def test_an_empty_overlay_is_a_snapshot_without_routes() -> None:
    found = index(overlay([]), Everywhere(), 0.0)
    assert (dict(found.routes), found.unconfigured) == ({}, 0)


@pytest.mark.parametrize("field", ["overlay", "routes"])
def test_a_snapshot_cannot_be_changed(field: str) -> None:
    made: Any = snapshot(*FIVE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, field, None)
