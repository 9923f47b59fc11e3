"""Bytes become text, or one problem that says what an editor has to do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.problems import ConfigErrors
from forge.spec.text import MAX_BYTES, decode, lines_of


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        pytest.param(b"a" * (MAX_BYTES + 1), "f", "the file is larger than 4 MiB", id="too large"),
        pytest.param("a: 1\n".encode("utf-16"), "f", "the file is UTF-16", id="UTF-16"),
        pytest.param(b"a: 1\nb: \xff\n", "f:2:4", "a byte here is not UTF-8", id="a byte of another encoding"),
        pytest.param(b"a: 1\r\nb: \x00", "f:2:4", "an invisible character (U+0000) is not allowed in YAML", id="NUL"),
        pytest.param("ü: \x1b[31m".encode(), "f:1:4", "an invisible character (U+001B) is not allowed in YAML", id="an escape"),
        pytest.param("a: \ufeff".encode(), "f:1:4", "an invisible character (U+FEFF) is not allowed in YAML", id="a mark inside"),
        pytest.param("a: \u2028".encode(), "f:1:4", "an invisible character (U+2028) is not allowed in YAML", id="a line separator"),
    ],
)  # fmt: skip
def test_what_cannot_be_text_is_refused(data: bytes, place: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as raised:
        decode(data, "f")
    (problem,) = raised.value.problems
    assert (problem.code, str(problem.place), problem.message) == ("FG0101", place, message)
    assert problem.help


def test_a_byte_order_mark_at_the_start_is_dropped() -> None:
    assert decode("\ufeffa: ü\n".encode(), "f") == "a: ü\n"


def test_the_largest_file_is_read() -> None:
    assert len(decode(b"a" * MAX_BYTES, "f")) == MAX_BYTES


def test_lines_end_as_in_yaml() -> None:
    assert lines_of("a\nb\r\nc\rd") == ("a", "b", "c", "d")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    text, codes = "", []
    try:
        text = decode(data, "f")
    except ConfigErrors as errors:
        codes = [p.code for p in errors.problems]
    assert codes in ([], ["FG0101"])
    assert "\x00" not in text
