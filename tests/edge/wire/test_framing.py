"""The shortcut for ordinary heads never lets through, nor reads differently, what the table would refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.framing import RULES, Until, body_ends, judge, settle, settle_plain
from edge.wire.limits import Limits
from edge.wire.messages import Request

LIMITS = Limits(fields=4, target_bytes=20)

FIELDS = {
    b"host": [b"a", b"a:1", b"b b", b"", b"[::1]", b"x@y"],
    b"content-length": [b"0", b"12", b"007", b"-1", b"x", b"1" * 30, b"1, 1", "\u0661".encode()],
    b"transfer-encoding": [b"chunked", b"gzip, chunked", b""],
    b"connection": [b"close", b"keep-alive", b"x-hop"],
    b"expect": [b"100-continue", b"x"],
    b"upgrade": [b"h2c"],
    b"te": [b"trailers"],
    b"x-hop": [b"1"],
    b"accept": [b"*/*"],
    b"x-a": [b"1"],
}

heads = st.builds(
    lambda method, target, fields: (method, target, fields),
    st.sampled_from([b"GET", b"POST", b"TRACE", b"CONNECT"]),
    st.sampled_from([b"/", b"/a?b#c", b"*", b"http://a/", b"x", b"/" + b"a" * 30]),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in FIELDS.items()}),
)


def _request(head: tuple[bytes, bytes, dict[bytes, bytes]]) -> Request:
    request = Request()
    request.method, request.target, fields = head
    request.fields = dict(fields)
    return request


def _seen(request: Request) -> tuple[object, ...]:
    return request.host, request.declared_length, request.fields


@given(heads)
@settings(max_examples=400)
def test_what_is_plain_breaks_no_rule_and_is_settled_alike(
    head: tuple[bytes, bytes, dict[bytes, bytes]],
) -> None:
    by_rules, plain = _request(head), _request(head)
    fault = judge(by_rules, LIMITS)
    if settle_plain(plain, LIMITS):
        assert fault is None
        assert not settle(by_rules)
        assert _seen(plain) == _seen(by_rules)
    else:
        assert plain.fields == head[2]


def test_an_ordinary_request_is_plain_once_its_host_is_known() -> None:
    head = (b"POST", b"/v1", {b"host": b"known", b"content-length": b"5", b"accept": b"*/*"})
    assert judge(_request(head), LIMITS) is None
    request = _request(head)
    assert settle_plain(request, LIMITS)
    assert _seen(request) == (b"known", 5, {b"accept": b"*/*"})


def test_every_rule_names_its_source() -> None:
    assert all(rule.source.startswith("RFC ") for rule in RULES)
    assert all(400 <= rule.fault.status < 600 for rule in RULES)


def test_fields_connection_lists_are_taken_out_with_the_hop_by_hop_ones() -> None:
    head = (
        b"GET",
        b"/",
        {b"host": b"a", b"connection": b"X-Hop , close", b"x-hop": b"1", b"te": b"t", b"x-a": b"1"},
    )
    request = _request(head)
    settle(request)
    assert request.fields == {b"x-a": b"1"}


@pytest.mark.parametrize(
    ("method", "status", "minor", "length", "coding", "expected"),
    [
        (b"GET", 200, 1, b"5", None, Until.LENGTH),
        (b"GET", 200, 1, None, b"chunked", Until.LAST_CHUNK),
        (b"GET", 200, 1, None, None, Until.CLOSE),
        (b"GET", 200, 0, None, None, Until.CLOSE),
        (b"HEAD", 200, 1, b"5", None, Until.HEAD),
        (b"GET", 204, 1, None, None, Until.HEAD),
        (b"GET", 304, 1, b"5", None, Until.HEAD),
        (b"GET", 200, 1, b"5", b"chunked", None),
        (b"HEAD", 200, 1, b"5", b"chunked", None),
        (b"GET", 200, 1, b"5, 5", None, None),
        (b"GET", 200, 1, b"", None, None),
        (b"GET", 200, 0, None, b"chunked", None),
        (b"GET", 200, 1, None, b"gzip, chunked", None),
    ],
)
def test_where_a_reply_ends(
    method: bytes, status: int, minor: int, length: bytes | None, coding: bytes | None, expected: Until | None
) -> None:
    assert body_ends(method, status, minor, length, coding) is expected
