"""A digest covers what routes and nothing else; a stable id names a candidate and not its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.digest import content_digest, stable_id
from tests.kit.overlays import candidate, document

GOLDEN = Path(__file__).parents[2] / "golden"
STABLE_IDS = json.loads((GOLDEN / "stable-ids.json").read_text(encoding="utf-8"))["vectors"]
DOCUMENTS = json.loads((GOLDEN / "digest-documents.json").read_text(encoding="utf-8"))["vectors"]

PART = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@pytest.mark.parametrize("vector", STABLE_IDS, ids=lambda vector: vector["because"])
def test_stable_ids_are_the_published_ones(vector: dict[str, str]) -> None:
    found = stable_id(vector["kind"], vector["name"], vector["site"], vector["cluster"])
    assert found == vector["stable_id"]


@pytest.mark.parametrize("vector", DOCUMENTS, ids=lambda vector: vector["because"])
def test_digests_are_the_published_ones(vector: dict[str, Any]) -> None:
    assert content_digest(vector["document"]) == vector["content_digest"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("k", "a/b", "c", "d"), ("k", "a", "b/c", "d"), id="a slash moves between the parts"),
        pytest.param(("k", "ab", "c", "d"), ("k", "a", "bc", "d"), id="a letter moves between the parts"),
        pytest.param(("k", "a", "b", "c"), ("k", "a", "c", "b"), id="two parts swapped"),
    ],
)
def test_different_candidates_have_different_ids(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert stable_id(*one) != stable_id(*other)


@given(st.tuples(PART, PART, PART, PART), st.tuples(PART, PART, PART, PART))
def test_a_stable_id_is_the_four_parts(
    one: tuple[str, str, str, str], other: tuple[str, str, str, str]
) -> None:
    assert (stable_id(*one) == stable_id(*other)) == (one == other)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(document(revision=43), id="the revision"),
        pytest.param(document(generated_at="2026-07-25T13:00:00Z"), id="when it was generated"),
        pytest.param(document(valid_until="2026-07-25T13:00:00Z"), id="how long it is valid"),
        pytest.param(document(unknown="field"), id="an unknown field of the document"),
        pytest.param(document([candidate(score=0.5)]), id="a score"),
        pytest.param(document([candidate(score=None)]), id="whether there is a score"),
        pytest.param(document([dict(reversed(candidate().items()))]), id="the order of keys"),
    ],
)
def test_the_digest_does_not_cover(changed: dict[str, object]) -> None:
    assert changed["content_digest"] == document()["content_digest"]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(document(grid_id="grid-2"), id="the grid"),
        pytest.param(document(network="other"), id="the network"),
        pytest.param(document(consumer={"gateway": "edge-us-east", "site": "elsewhere"}), id="the consumer"),
        pytest.param(document([]), id="whether there are candidates"),
        pytest.param(document([candidate(rank=1)]), id="a rank"),
        pytest.param(document([candidate(admission_state="existing_only")]), id="an admission"),
        pytest.param(document([candidate(selection_tier="same_zone")]), id="a tier"),
        pytest.param(document([candidate(fresh=False)]), id="freshness"),
        pytest.param(document([candidate(unknown="field")]), id="an unknown field of a candidate"),
        pytest.param(document([candidate("b", rank=1), candidate()]), id="the order of candidates"),
    ],
)
def test_the_digest_covers(changed: dict[str, object]) -> None:
    assert changed["content_digest"] != document()["content_digest"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_score_changes_a_digest(score: float) -> None:
    assert content_digest(document([candidate(score=score)])) == document()["content_digest"]


def test_candidates_that_are_no_objects_still_have_a_digest() -> None:
    assert content_digest({"candidates": ["x"]}) != content_digest({"candidates": "x"})
