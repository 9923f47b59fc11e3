"""What filters write can never break the head it is written into."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.wire.heads import chunk, reply_head, request_head
from edge.wire.messages import Reply, Request, UnsafeField
from edge.wire.sse import error_event, is_event_stream


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x", b"a\r\nevil: 1"),
        (b"x", b"a\nevil: 1"),
        (b"x", b"a\x00"),
        (b"x", b"a\x7f"),
        (b"x: y\r\nevil", b"1"),
        (b"X", b"upper case is no name here"),
        (b"", b"1"),
        (b"content-length", b"5"),
        (b"transfer-encoding", b"chunked"),
        (b"connection", b"close"),
        (b"host", b"evil"),
    ],
)
def test_an_unsafe_field_is_refused_and_changes_nothing(name: bytes, value: bytes) -> None:
    request, reply = Request(), Reply(200, [(b"x", b"1")])
    with pytest.raises(UnsafeField):
        request.set(name, value)
    with pytest.raises(UnsafeField):
        reply.set(name, value)
    with pytest.raises(UnsafeField):
        reply.add(name, value)
    assert request.fields == {}
    assert reply.fields == [(b"x", b"1")]


@given(st.binary(max_size=8), st.binary(max_size=30))
def test_whatever_is_accepted_stays_one_line(name: bytes, value: bytes) -> None:
    request = Request()
    request.method, request.target = b"GET", b"/"
    try:
        request.set(name, value)
    except UnsafeField:
        return
    head = request_head(request, b" HTTP/1.1")
    assert head == b"GET / HTTP/1.1\r\n%b: %b\r\n\r\n" % (name, value)
    assert head.count(b"\n") == 3


def test_a_reply_keeps_repeated_names_apart_until_one_is_set() -> None:
    reply = Reply(200, [(b"set-cookie", b"a"), (b"x", b"1"), (b"set-cookie", b"b")])
    assert reply.get(b"set-cookie") == b"a"
    reply.set(b"set-cookie", b"c")
    reply.add(b"set-cookie", b"d")
    assert reply.fields == [(b"x", b"1"), (b"set-cookie", b"c"), (b"set-cookie", b"d")]
    reply.remove(b"set-cookie")
    assert reply.get(b"set-cookie") is None


def test_the_status_line_is_our_own() -> None:
    head = reply_head(Reply(299, [(b"x", b"1")]), b"content-length: 0\r\n")
    assert head == b"HTTP/1.1 299 Status\r\nx: 1\r\nvia: 1.1 praxis\r\ncontent-length: 0\r\n\r\n"


def test_an_empty_chunk_would_end_the_body_and_is_left_out() -> None:
    assert chunk(b"") == b""
    assert chunk(b"abcde") == b"5\r\nabcde\r\n"


def test_a_body_is_declared_even_when_empty_where_one_is_usual() -> None:
    request = Request()
    request.method, request.target = b"POST", b"/"
    assert request_head(request, b" HTTP/1.1") == b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (b"", b"event: error\ndata: {}\n\n"),
        (b"data: 1\n\n", b"event: error\ndata: {}\n\n"),
        (b"data: 1\r\n\r\n", b"event: error\ndata: {}\n\n"),
        (b"data: 1\n", b"\n\nevent: error\ndata: {}\n\n"),
        (b"data: [DONE]\n\n", b""),
    ],
)
def test_an_error_event_is_an_event_of_its_own(last: bytes, expected: bytes) -> None:
    assert error_event(b"{}", last) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (b"text/event-stream", True),
        (b"Text/Event-Stream; charset=utf-8", True),
        (b"application/json", False),
        (None, False),
    ],
)
def test_event_streams_are_known_by_their_type(content_type: bytes | None, expected: bool) -> None:
    assert is_event_stream(content_type) is expected
