"""RFC 3339 in UTC outside, Unix seconds inside; nothing that merely looks like a date is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.instants import read_instant, write_instant


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("2026-07-25T12:00:00Z", 1784980800.0, id="UTC"),
        pytest.param("2026-07-25T14:00:00+02:00", 1784980800.0, id="with an offset"),
        pytest.param("2026-07-25t12:00:00z", 1784980800.0, id="lower case"),
        pytest.param("2026-07-25T12:00:00.25Z", 1784980800.25, id="with a fraction"),
        pytest.param("2026-07-25T12:00:00.250000999Z", 1784980800.25, id="nanoseconds are cut"),
    ],
)
def test_an_instant_is_read(text: str, at: float) -> None:
    assert read_instant(text) == at


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2026-07-25", id="a day"),
        pytest.param("2026-07-25T12:00:00", id="no zone"),
        pytest.param("2026-07-25 12:00:00Z", id="a space"),
        pytest.param("2026-W30-6T12:00:00Z", id="a week date"),
        pytest.param("2026-02-30T12:00:00Z", id="a day that is not"),
        pytest.param("2026-07-25T25:00:00Z", id="an hour that is not"),
        pytest.param("٢٠٢٦-07-25T12:00:00Z", id="digits that are not ASCII"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the class is the contract)
        read_instant(text)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        pytest.param(1784980800.0, "2026-07-25T12:00:00Z", id="a whole second"),
        pytest.param(1784980800.0071, "2026-07-25T12:00:00.007Z", id="milliseconds"),
        pytest.param(1784980799.9999, "2026-07-25T12:00:00Z", id="rounded up to the second"),
    ],
)
def test_an_instant_is_written(at: float, text: str) -> None:
    assert write_instant(at) == text


@given(st.integers(min_value=0, max_value=4_102_444_800_000))
def test_a_written_instant_reads_back(milliseconds: int) -> None:
    assert round(read_instant(write_instant(milliseconds / 1000)) * 1000) == milliseconds
