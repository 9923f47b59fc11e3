"""A reply in whole chunks is what the parser makes of it, wherever reads end and whatever is damaged."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.wire.chunks import whole_chunks
from edge.wire.intake import SCRATCH
from edge.wire.replies import ReplyReader

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Outcome = tuple[bytes, bool, bool, bool]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(b"5\r\nhello\r\n", [b"hello"], id="one"),
        pytest.param(b"A\r\n0123456789\r\n1\r\nx\r\n", [b"0123456789", b"x"], id="two, a capital size"),
        pytest.param(b"2\r\n\r\n\r\n", [b"\r\n"], id="data that looks like an end"),
        pytest.param(b"5\r\nhello", [], id="without its end"),
        pytest.param(b"5\r\nhello\r\n3", [], id="and a part of another"),
        pytest.param(b"5\r\nhello\r\n0\r\n\r\n", [], id="and the last"),
        pytest.param(b"05\r\nhello\r\n", [], id="a leading zero"),
        pytest.param(b"5;a=b\r\nhello\r\n", [], id="an extension"),
        pytest.param(b"5\nhello\r\n", [], id="a bare LF after the size"),
        pytest.param(b"5\r\nhello\n\n", [], id="a bare LF after the data"),
        pytest.param(b"4\r\nhello\r\n", [], id="too short a size"),
        pytest.param(b"-5\r\nhello\r\n", [], id="a sign"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_what_is_taken_without_the_parser(read: bytes, expected: list[bytes]) -> None:
    assert whole_chunks(read) == expected


PIECES = st.sampled_from(
    [
        *(b"3\r\nabc\r\n", b"2\r\n\r\n\r\n", b"1\r\n\n\r\n", b"A\r\n0123456789\r\n", b"5;x=1\r\nhello\r\n"),
        *(b"003\r\nabc\r\n", b"0\r\n\r\n", b"0\r\nT: 1\r\n\r\n", b"3\nabc\r\n", b"3\r\nabcd\r\n", b"\r\n"),
        *(b"g\r\n", b"ffffffff\r\n", b"3 \r\nabc\r\n", b"0", b"1\r", b"HTTP/1.1 200 OK\r\n"),
    ]
)


@given(pieces=st.lists(PIECES, max_size=6), cuts=st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=400)
def test_every_cut_gives_what_the_parser_alone_gives(pieces: list[bytes], cuts: list[int]) -> None:
    data = HEAD + b"".join(pieces)
    bounds = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    reads = [data[a:b] for a, b in pairwise(bounds)]
    assert _outcome(reads) == _outcome([data[at : at + 1] for at in range(len(data))])


@pytest.mark.parametrize("damage", [b"", b"x", b"\n", b"\r\n", b"0"])
def test_every_two_cuts_of_a_plain_body(damage: bytes) -> None:
    whole = HEAD + b"3\r\na\nc\r\n" + damage + b"4\r\nwxyz\r\n0\r\n\r\n"
    expected = _outcome([whole[at : at + 1] for at in range(len(whole))])
    for first in range(1, len(whole)):
        for second in range(first + 1, len(whole)):
            assert _outcome([whole[:first], whole[first:second], whole[second:]]) == expected


def test_a_read_of_whole_chunks_is_handed_on_as_it_is() -> None:
    reader = ReplyReader()
    reader.expect(b"POST")
    _feed(reader, HEAD + b"3\r\nabc\r\n")
    before = reader.raw
    _feed(reader, b"2\r\nde\r\n1\r\nf\r\n")
    assert (before, reader.raw, reader.pieces) == (None, b"2\r\nde\r\n1\r\nf\r\n", [b"de", b"f"])


def _outcome(reads: list[bytes]) -> Outcome:
    """The body, and whether it is complete, must not be trusted, or is followed by what nobody asked for.

    Read byte by byte no read is a whole chunk: then all of it is the parser's."""
    reader = ReplyReader()
    reader.expect(b"POST")
    body = b""
    for read in reads:
        _feed(reader, read)
        body += b"".join(reader.pieces)
        reader.pieces, reader.raw = [], None
    return (body if not reader.faulty else b"", reader.complete, reader.faulty, reader.excess)


def _feed(reader: ReplyReader, read: bytes) -> None:
    SCRATCH[: len(read)] = read
    reader.feed(SCRATCH[: len(read)])
