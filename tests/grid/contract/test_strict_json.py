"""JSON is decoded whole or refused with its reason, in time and space its size bounds."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.reasons import OverlayRejected, RejectReason
from grid.contract.strict_json import MAX_BYTES, MAX_CONTAINERS, MAX_DEPTH, _outside_strings, decode


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", RejectReason.EMPTY, id="nothing"),
        pytest.param(b" \n\t", RejectReason.EMPTY, id="white space"),
        pytest.param(b" " * (MAX_BYTES + 1), RejectReason.OVERSIZED, id="a byte over the bound"),
        pytest.param(b"{", RejectReason.MALFORMED_JSON, id="cut short"),
        pytest.param(b"{} {}", RejectReason.MALFORMED_JSON, id="two values"),
        pytest.param(b"\xff", RejectReason.MALFORMED_JSON, id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", RejectReason.MALFORMED_JSON, id="a byte order mark"),
        pytest.param(b'"\\ud800"', RejectReason.MALFORMED_JSON, id="a lone surrogate, escaped"),
        pytest.param(b'"\xed\xa0\x80"', RejectReason.MALFORMED_JSON, id="a lone surrogate, encoded"),
        pytest.param(b"NaN", RejectReason.MALFORMED_JSON, id="NaN"),
        pytest.param(b"-Infinity", RejectReason.MALFORMED_JSON, id="infinity"),
        pytest.param(b"1e999", RejectReason.MALFORMED_JSON, id="a number beyond any double"),
        pytest.param(b"9" * 400, RejectReason.MALFORMED_JSON, id="an integer beyond any double"),
        pytest.param(b"9" * 5000, RejectReason.MALFORMED_JSON, id="an integer of 5,000 digits"),
        pytest.param(b'"\n"', RejectReason.MALFORMED_JSON, id="a bare line feed in a string"),
        pytest.param(b'{"a":1,"a":1}', RejectReason.DUPLICATE_KEY, id="a key twice"),
        pytest.param(
            b'{"x":{"a":1,"\\u0061":1}}', RejectReason.DUPLICATE_KEY, id="a key twice, once escaped"
        ),
        pytest.param(b"[" * (MAX_DEPTH + 1), RejectReason.TOO_COMPLEX, id="too deep"),
        pytest.param(b"[" * MAX_BYTES, RejectReason.TOO_COMPLEX, id="two mebibytes of brackets"),
        pytest.param(b"[" + b"[]," * MAX_CONTAINERS, RejectReason.TOO_COMPLEX, id="too many values"),
    ],
)
def test_bad_json_is_refused(data: bytes, reason: RejectReason) -> None:
    with pytest.raises(OverlayRejected) as refused:
        decode(data)
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None, id="as deep as may be"),
        pytest.param(b'["' + b"[{" * 50_000 + b'"]', ["[{" * 50_000], id="brackets in a string do not count"),
        pytest.param(b'["\\"[[[[[[[[[[[[[[[[[["]', ['"' + "[" * 18], id="an escaped quote ends no string"),
        pytest.param(b'"\\ud83d\\ude00"', "\U0001f600", id="a surrogate pair"),
        pytest.param(b"-0", 0, id="minus nought"),
    ],
)
def test_odd_but_sound_json_is_read(data: bytes, value: object) -> None:
    found = decode(data)
    assert value is None or found == value


def test_unclosed_strings_are_refused_in_linear_time() -> None:
    """A scanner that starts afresh at each quote would need minutes for this; there is no timer here."""
    data = b"[" * MAX_DEPTH + b'"[' + b'\\"' * (MAX_BYTES // 2 - 64)
    with pytest.raises(OverlayRejected):
        decode(data)


@given(st.binary(max_size=64))
def test_any_bytes_are_json_or_refused(data: bytes) -> None:
    try:
        value = decode(data)
    except OverlayRejected:
        return
    assert json.loads(data) == value


@given(
    st.recursive(
        st.text(st.sampled_from('\\"[]{}a\n')) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('\\"[{')), inner),
    )
)
def test_strings_are_set_aside_whatever_they_escape(value: object) -> None:
    data = json.dumps(value).encode()
    assert _outside_strings(data) == re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data)
