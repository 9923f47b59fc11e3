"""A duration is a whole number and a unit; what is none leaves the default in force."""

from __future__ import annotations

import pytest

from grid.crd.durations import is_duration, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("300ms", 0.3, id="milliseconds"),
        pytest.param("10s", 10.0, id="seconds"),
        pytest.param("5m", 300.0, id="minutes"),
        pytest.param("1h", 3600.0, id="an hour"),
        pytest.param("9" * 400 + "s", 1e9, id="for ever"),
        pytest.param(None, 7.0, id="nothing said"),
        pytest.param("", 7.0, id="empty"),
        pytest.param("0s", 7.0, id="no time at all"),
        pytest.param("1.5s", 7.0, id="a fraction"),
        pytest.param("10", 7.0, id="no unit"),
        pytest.param("10 s", 7.0, id="a space"),
        pytest.param("-1s", 7.0, id="negative"),
        pytest.param("10s\n", 7.0, id="a line feed at the end"),
        pytest.param("\u0661s", 7.0, id="a digit that is not ASCII"),
    ],
)
def test_seconds(text: str | None, expected: float) -> None:
    assert seconds(text, 7.0) == pytest.approx(expected)


def test_only_a_wrong_text_is_no_duration() -> None:
    assert [is_duration(text) for text in (None, "10s", "soon")] == [True, True, False]
