"""Canonical JSON has RFC 8785's bytes: its published numbers, its key order, its string escapes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.canonical import canonical, number

NUMBERS: dict[str, str] = json.loads(
    (Path(__file__).parents[2] / "golden" / "digest-numbers.json").read_text(encoding="utf-8")
)["numbers"]

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), FINITE, st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_a_double_prints_as_rfc_8785_appendix_b_lists_it(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert number(value) == text


@given(FINITE)
def test_a_number_keeps_its_value(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}', id="keys sorted, no space"),
        pytest.param(
            {"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}', id="keys sort by UTF-16 units"
        ),
        pytest.param(
            '"\\\b\f\n\r\t\x0f/\x7fé', '"\\"\\\\\\b\\f\\n\\r\\t\\u000f/\x7fé"', id="shortest escapes"
        ),
        pytest.param(1.0, "1", id="a whole float is whole"),
        pytest.param(-0.0, "0", id="no negative zero"),
        pytest.param(2**53 + 1, "9007199254740992", id="an integer no double holds is its double"),
        pytest.param(10**21, "1e+21", id="a huge integer is laid out as a double"),
        pytest.param((1, 2), "[1,2]", id="a tuple is a list"),
    ],
)
def test_a_value_has_these_bytes(value: object, text: str) -> None:
    assert canonical(value) == text.encode()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="NaN"),
        pytest.param(float("-inf"), id="infinity"),
        pytest.param(10**400, id="an integer beyond any double"),
        pytest.param("\ud800", id="lone surrogate"),
        pytest.param({"\ud800": 1}, id="lone surrogate in a key"),
        pytest.param(object(), id="no JSON value at all"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the class is the contract: every refusal is a ValueError)
        canonical(value)


@given(VALUES)
def test_canonical_bytes_are_a_fixed_point(value: object) -> None:
    first = canonical(value)
    assert canonical(json.loads(first)) == first


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), SCALARS))
def test_key_order_does_not_matter(value: dict[str, object]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)
