"""Merge patches follow RFC 7386."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.patch.merge import apply_merge
from forge.embedded.api.patch.rejected import PatchRejected

# RFC 7386, appendix A, as far as both sides are objects.
RFC = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("doc", "patch", "expected"), RFC)
def test_the_examples_of_the_rfc(doc: Any, patch: Any, expected: Any) -> None:
    assert apply_merge(doc, patch) == expected


@pytest.mark.parametrize(
    ("patch", "kind"), [([1], "array"), ("x", "string"), (1, "number"), (True, "bool"), (None, "null")]
)
def test_a_patch_that_is_no_object_is_refused(patch: Any, kind: str) -> None:
    with pytest.raises(PatchRejected) as refused:
        apply_merge({}, patch)
    message = (
        f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )
    assert (refused.value.code, refused.value.message) == (400, message)


def objects(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        ),
        max_leaves=8,
    )
    return st.dictionaries(st.sampled_from("abc"), values, max_size=3)


LEAVES = st.booleans() | st.integers() | st.text(max_size=3)
ANY = objects(LEAVES | st.none())
FULL = objects(LEAVES)
# Nulls stand for removal in objects; inside lists the real library treats them unevenly.
PATCHES = st.recursive(
    FULL, lambda inner: st.dictionaries(st.sampled_from("abc"), st.none() | inner, max_size=3), max_leaves=6
)


@given(ANY, PATCHES)
def test_applying_twice_is_applying_once_and_changes_no_input(
    doc: dict[str, Any], patch: dict[str, Any]
) -> None:
    kept = copy.deepcopy((doc, patch))
    once = apply_merge(doc, patch)
    assert (doc, patch) == kept
    assert apply_merge(once, patch) == once


@given(FULL)
def test_a_patch_without_nulls_applied_to_nothing_is_itself(patch: dict[str, Any]) -> None:
    assert apply_merge({}, patch) == patch


@given(ANY)
def test_an_empty_patch_changes_nothing(doc: dict[str, Any]) -> None:
    assert apply_merge(doc, {}) == doc
