"""However a reply is cut into reads, the same head, body and end come out; doubt is always seen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.framing import Until
from edge.wire.intake import SCRATCH
from edge.wire.replies import ReplyReader

HEAD = b"HTTP/1.1 200 OK\r\n"
LENGTH = HEAD + b"Content-Length: 5\r\nX: 1\r\n\r\nhello"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;e=1\r\nhel\r\n2\r\nlo\r\n0\r\nT: 1\r\n\r\n"
CLOSE = HEAD + b"\r\nhello"
INTERIM = b"HTTP/1.1 100 Continue\r\nLink: x\r\n\r\n" + LENGTH

Seen = tuple[int | None, tuple[tuple[bytes, bytes], ...], bytes, bool, bool, bool, bool]


def _read(data: bytes, cuts: list[int], method: bytes = b"POST", *, then_close: bool = False) -> Seen:
    """Status, fields, body, and whether it is complete, faulty, followed by excess, reusable."""
    reader = ReplyReader()
    reader.expect(method)
    body = b""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        if start == end:
            continue
        SCRATCH[: end - start] = data[start:end]
        reader.feed(SCRATCH[: end - start])
        body += b"".join(reader.pieces)
        reader.pieces = []
    if then_close:
        reader.end()
    reply = reader.reply
    usable = reader.reusable and not reader.excess and not reader.faulty
    return (
        reply.status if reply else None,
        tuple(reply.fields) if reply else (),
        body,
        reader.complete,
        reader.faulty,
        reader.excess,
        usable,
    )


@pytest.mark.parametrize(
    ("data", "method", "expected"),
    [
        pytest.param(
            LENGTH, b"POST", (200, ((b"x", b"1"),), b"hello", True, False, False, True), id="a length"
        ),
        pytest.param(CHUNKED, b"POST", (200, (), b"hello", True, False, False, True), id="chunks"),
        pytest.param(CLOSE, b"POST", (200, (), b"hello", False, False, False, False), id="until the close"),
        pytest.param(
            INTERIM, b"POST", (200, ((b"x", b"1"),), b"hello", True, False, False, True), id="interim"
        ),
        pytest.param(
            LENGTH[:-1], b"POST", (200, ((b"x", b"1"),), b"hell", False, False, False, True), id="short"
        ),
        pytest.param(
            LENGTH + b"x", b"POST", (200, ((b"x", b"1"),), b"hello", True, False, True, False), id="long"
        ),
        pytest.param(
            LENGTH[:-5],
            b"HEAD",
            (200, ((b"x", b"1"),), b"", True, False, False, True),
            id="the head for a HEAD",
        ),
        pytest.param(
            LENGTH, b"HEAD", (200, ((b"x", b"1"),), b"", True, False, True, False), id="a body for a HEAD"
        ),
        pytest.param(b"nonsense\r\n\r\n", b"GET", (None, (), b"", False, True, False, False), id="nonsense"),
    ],
)
def test_what_is_read(data: bytes, method: bytes, expected: Seen) -> None:
    assert _read(data, [], method) == expected


REPLIES = [LENGTH, CHUNKED, CLOSE, INTERIM, LENGTH + LENGTH, CHUNKED + b"0", b"HTTP/1.1 204 N\r\n\r\n"]


@given(st.sampled_from(REPLIES), st.lists(st.integers(0, 300), max_size=8), st.booleans())
@settings(max_examples=300)
def test_any_cut_reads_the_same(data: bytes, cuts: list[int], then_close: bool) -> None:
    assert _read(data, cuts, then_close=then_close) == _read(data, [], then_close=then_close)


@given(st.integers(0, 200), st.binary(min_size=1, max_size=6))
@settings(max_examples=400)
def test_a_connection_is_reused_only_when_every_byte_is_accounted_for(at: int, junk: bytes) -> None:
    at %= len(LENGTH)
    damaged = LENGTH[:at] + junk + LENGTH[at:]
    status, _, body, complete, _, _, usable = _read(damaged, [])
    if usable and complete and status not in (204, 304):
        whole = damaged.lstrip(b"\r\n")  # blank lines before a reply are let pass
        assert whole.partition(b"\r\n\r\n")[2] == body


def test_a_second_reply_on_the_same_reader_starts_clean() -> None:
    reader = ReplyReader()
    for data, method, until in ((LENGTH, b"POST", Until.LENGTH), (CHUNKED, b"GET", Until.LAST_CHUNK)):
        reader.expect(method)
        SCRATCH[: len(data)] = data
        reader.feed(SCRATCH[: len(data)])
        assert b"".join(reader.pieces) == b"hello"
        assert (reader.complete, reader.until, reader.reusable, reader.excess) == (True, until, True, False)
        reader.pieces = []


def test_only_the_close_ends_a_body_without_framing() -> None:
    assert _read(CLOSE, [], then_close=True)[3]
    assert not _read(LENGTH[:-1], [], then_close=True)[3]
    assert not _read(CHUNKED[:-4], [], then_close=True)[3]


def test_trailers_and_their_framing_names_change_nothing() -> None:
    data = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Late: 1\r\n\r\n"
    assert _read(data, [])[:4] == (200, (), b"x", True)
