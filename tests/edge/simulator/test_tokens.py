"""Tokens give their text back, and what is made from a seed is the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.simulator import tokens


@given(st.text())
def test_tokens_joined_are_the_text(text: str) -> None:
    assert "".join(tokens.split(text)) == text


def test_an_invented_answer_depends_on_seed_model_and_prompt_alone() -> None:
    first = tokens.invent(1, "m", "hello", 8)
    assert first == tokens.invent(1, "m", "hello", 8)
    assert first != tokens.invent(2, "m", "hello", 8)
    assert first != tokens.invent(1, "m", "other", 8)
    assert len(first) == 8


def test_vectors_are_of_unit_length() -> None:
    vector = tokens.embed(1, "m", "hello", 12)
    assert len(vector) == 12
    assert sum(x * x for x in vector) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        pytest.param("aaaabbbb", "aaaabbbb", 2, id="equal texts share all full blocks"),
        pytest.param("aaaabbbb", "aaaacccc", 1, id="equal beginnings share theirs"),
        pytest.param("aaaabbbb", "ccccbbbb", 0, id="an equal end alone shares nothing"),
    ],
)
def test_blocks_are_shared_by_prefix(first: str, second: str, shared: int) -> None:
    ours, theirs = (tokens.blocks(tokens.split(text), 1) for text in (first, second))
    assert len(set(ours) & set(theirs)) == shared


def test_an_unfinished_block_is_not_cached() -> None:
    assert len(tokens.blocks(["a"] * 7, 4)) == 1
