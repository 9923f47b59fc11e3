"""Quantities keep their value and take the server's canonical form."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.quantity import BINARY, DECIMAL, BadQuantity, canonical, parse

CANONICAL = [
    ("0", "0"),
    ("0Gi", "0"),
    ("500m", "500m"),
    ("1000m", "1"),
    ("0.5", "500m"),
    (".5", "500m"),
    ("1.5Gi", "1536Mi"),
    ("1024Mi", "1Gi"),
    ("1000Ki", "1000Ki"),
    ("512", "512"),
    ("1e3", "1e3"),
    ("12e6", "12e6"),
    ("100M", "100M"),
    ("2000", "2k"),
    ("0.1n", "1n"),
    ("-1.5", "-1500m"),
    ("+1", "1"),
    ("0.5Ki", "512"),
]


@pytest.mark.parametrize(("text", "expected"), CANONICAL)
def test_the_canonical_form(text: str, expected: str) -> None:
    assert canonical(text) == expected


BAD = [
    ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("x", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("1 Gi", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("1.2.3", "unable to parse numeric part of quantity"),
    ("1kk", "unable to parse quantity's suffix"),
    ("1e", "unable to parse quantity's suffix"),
]


@pytest.mark.parametrize(("text", "told"), BAD)
def test_what_is_no_quantity(text: str, told: str) -> None:
    with pytest.raises(BadQuantity) as refused:
        parse(text)
    assert str(refused.value) == told


NUMBERS = st.decimals(-(10**6), 10**6, allow_nan=False, places=3).map(str)
SUFFIXES = st.sampled_from([*DECIMAL, *BINARY, "e3", "E-3"])


@given(NUMBERS, SUFFIXES)
def test_the_canonical_form_has_the_same_value_and_is_its_own(number: str, suffix: str) -> None:
    text = f"{number}{suffix}"
    form = canonical(text)
    assert parse(form) == parse(text)
    assert canonical(form) == form


@given(st.text(alphabet="0123456789.eE+-KMGimnu", max_size=8))
def test_any_text_is_a_quantity_or_is_refused(text: str) -> None:
    try:
        value = parse(text)
    except BadQuantity:
        return
    assert isinstance(value, Fraction)
    assert parse(canonical(text)) == value
