"""A plain scalar means what YAML 1.2 says, and what would lose its spelling stays text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.scalars import Scalar, resolve


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nothing(text: str) -> None:
    assert resolve(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("true", True, id="true"),
        pytest.param("FALSE", False, id="false in capitals"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-17", -17, id="negative"),
        pytest.param("+3", 3, id="with a plus"),
        pytest.param("0o17", 15, id="octal of 1.2"),
        pytest.param("0xfF", 255, id="hexadecimal"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param(".5", 0.5, id="a fraction without a zero"),
        pytest.param("1e3", 1000.0, id="an exponent"),
        pytest.param("1.", 1.0, id="a fraction without digits"),
    ],
)
def test_numbers_and_truths(text: str, value: Scalar) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["no", "No", "on", "off", "yes", "y", "2024-01-01", "1:30", "0755", "-007", "0b1", "1_000", "0o8", "0x", ".",
     "-", "+", "1.2.3", "e3", "-.", ".inf", ".nan", "9" * 40, "nUll", "tRue", "<<", "1e99999"],
)  # fmt: skip
def test_everything_else_is_the_text_itself(text: str) -> None:
    assert resolve(text) == text


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_resolves(text: str) -> None:
    value = resolve(text)
    assert value is None or isinstance(value, (str, int, float, bool))
    if isinstance(value, str):
        assert value == text


@settings(deadline=None)
@given(st.integers(min_value=-(2**59), max_value=2**59))
def test_whole_numbers_come_back(number: int) -> None:
    assert resolve(str(number)) == number
