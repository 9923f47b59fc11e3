"""What is written is read back as it was, and the same overlay is always the same bytes."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.canonical import canonical
from grid.contract.digest import stable_id
from grid.contract.overlay import Admission, Candidate, Credential, Format, Overlay, Tier
from grid.contract.parse import parse
from grid.contract.write import digest_of, routed_text, write
from tests.kit.overlays import GENERATED_AT_S

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
CREDENTIALS = st.none() | st.builds(Credential, NAMES, NAMES, NAMES, NAMES)


def made(*candidates: Candidate) -> Overlay:
    return Overlay(
        format=Format.V1ALPHA2,
        network="production",
        gateway="edge",
        site="edge-us-east",
        digest=digest_of("grid-1", "production", "edge", "edge-us-east", map(routed_text, candidates)),
        candidates=candidates,
        grid_id="grid-1",
        revision=7,
        generated_at=GENERATED_AT_S,
        valid_until=GENERATED_AT_S + 30.5,
    )


def one(site: str = "east", **changes: object) -> Candidate:
    identity = ("inference_model", "m", site, f"gateway-{site}")
    found = Candidate(*identity, stable_id=stable_id(*identity), tier=Tier.SAME_REGION, score=9.1234)
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


@st.composite
def overlays(draw: st.DrawFn) -> Overlay:
    identities = draw(st.lists(st.tuples(NAMES, NAMES, NAMES, NAMES), max_size=6, unique=True))
    return made(
        *(
            Candidate(
                *identity,
                stable_id=stable_id(*identity),
                admission=draw(st.sampled_from(Admission)),
                tier=draw(st.sampled_from(Tier)),
                rank=rank,
                fresh=draw(st.booleans()),
                score=round(draw(st.floats(0, 13)), 4),
                credential=draw(CREDENTIALS),
            )
            for rank, identity in enumerate(identities)
        )
    )


@given(overlays())
def test_what_is_written_reads_back(overlay: Overlay) -> None:
    assert parse(write(overlay)) == overlay


def test_a_document_is_one_candidate_a_line() -> None:
    credential = Credential("bearer_token", "grid-system", "cred", "token")
    text = write(made(one(credential=credential), one("west", rank=1, score=None))).decode()
    assert text.count("\n    {") == 2
    assert '"secretRef":{"key":"token","name":"cred","namespace":"grid-system"}' in text
    assert json.loads(text)["valid_until"] == "2026-07-25T12:00:30.500Z"


@given(overlays())
def test_a_routed_text_is_canonical(overlay: Overlay) -> None:
    for candidate in overlay.candidates:
        text = routed_text(candidate)
        assert canonical(json.loads(text)) == text.encode()


def test_an_empty_overlay_is_written_as_such() -> None:
    assert json.loads(write(made()))["candidates"] == []


@pytest.mark.parametrize("missing", ["revision", "generated_at", "valid_until"])
def test_an_overlay_without_its_revision_or_times_is_not_written(missing: str) -> None:
    with pytest.raises(ValueError, match="with its revision"):
        write(dataclasses.replace(made(), **{missing: None}))  # type: ignore[arg-type]


def test_a_candidate_without_a_tier_is_written_without_one() -> None:
    assert "selection_tier" not in json.loads(write(made(one(tier=None))))["candidates"][0]
