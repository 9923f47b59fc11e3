"""Messages survive the wire, any bytes are a message or malformed, and what is unknown is skipped by rule."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grid.seal import aead
from grid.swim import codec
from grid.swim.codec import MAX_ADDRESS, MAX_COUNT, MAX_SITE, Unspeakable, decode, encode
from grid.swim.members import Claim, State
from grid.swim.messages import Fact, Kind, Lane, Malformed, Message
from grid.swim.tuning import MAX_EXCHANGE, MAX_TEXT

EAST = Claim("east", "127.0.0.1:7946", 7, 3)
PING = Message(Kind.PING, 9, 5, EAST, about="west")

names = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=32)
counts = st.integers(0, MAX_COUNT)
words = st.integers(0, 2**32 - 1)
claims = st.builds(
    Claim,
    names,
    names.filter(lambda n: len(n.encode()) <= MAX_ADDRESS),
    words,
    counts,
    st.sampled_from(State),
)
facts = st.builds(
    Fact,
    st.sampled_from(Lane),
    names,
    counts,
    st.integers(0, 2**32 - 1).map(lambda ms: ms / 1000),
    st.binary(min_size=8, max_size=8),
    st.none() | st.binary(max_size=64),
)
messages = st.builds(
    Message,
    st.sampled_from(Kind),
    words,
    words,
    claims,
    names | st.just(""),
    st.just("") | st.just("10.0.0.1:7946"),
    st.lists(claims, max_size=5).map(tuple),
    st.lists(facts, max_size=5).map(tuple),
)


def test_the_bound_is_the_seals_own() -> None:
    assert MAX_TEXT == aead.MAX_TEXT


@given(messages)
def test_what_is_encoded_is_decoded(message: Message) -> None:
    heard = decode(encode(message), MAX_EXCHANGE)
    assert isinstance(heard, Message)
    assert [round(f.age_s, 3) for f in heard.facts] == pytest.approx(
        [f.age_s for f in message.facts], abs=0.0011
    )
    assert _without_ages(heard) == _without_ages(message)


def _without_ages(message: Message) -> object:
    facts = [(f.lane, f.origin, f.revision, f.digest, f.payload) for f in message.facts]
    return (
        message.kind,
        message.seq,
        message.digest,
        message.sender,
        message.about,
        message.at,
        message.claims,
        facts,
    )


@given(st.binary(max_size=MAX_TEXT + 20))
@example(b"")
@example(b"\x01")
@example(b"\x01" * 1300)
def test_any_bytes_are_a_message_or_malformed(text: bytes) -> None:
    assert isinstance(decode(text), Message | Malformed)


@given(messages, st.data())
def test_a_damaged_message_is_a_message_or_malformed(message: Message, data: st.DataObject) -> None:
    text = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(text)))
    assert isinstance(decode(bytes(text[:cut]), MAX_EXCHANGE), Message | Malformed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(b"", Malformed.MALFORMED, id="nothing"),
        pytest.param(b"\x02" + encode(PING)[1:], Malformed.VERSION, id="another version is dropped whole"),
        pytest.param(encode(PING)[:-1], Malformed.MALFORMED, id="cut short"),
        pytest.param(encode(PING) + b"\x01", Malformed.MALFORMED, id="half a section's head"),
        pytest.param(
            encode(PING) + b"\x01\0\0\xff\xff", Malformed.MALFORMED, id="a section longer than the text"
        ),
        pytest.param(encode(PING) + bytes(MAX_TEXT), Malformed.TOO_LARGE, id="too large"),
        pytest.param(
            encode(PING).replace(b"east", b"ea\nt"), Malformed.MALFORMED, id="a control character in a name"
        ),
        pytest.param(
            encode(PING).replace(b"east", b"ea\xfft"), Malformed.MALFORMED, id="a name that is no UTF-8"
        ),
    ],
)
def test_what_is_no_message_says_why(text: bytes, why: Malformed) -> None:
    assert decode(text) is why


def test_an_unknown_kind_is_read_for_its_claims() -> None:
    text = bytearray(encode(Message(Kind.GOSSIP, 0, 0, EAST, claims=(EAST,))))
    text[1] = 99
    heard = decode(bytes(text))
    assert isinstance(heard, Message)
    assert (heard.kind, heard.claims) == (None, (EAST,))


def test_an_unknown_section_is_skipped() -> None:
    heard = decode(
        encode(PING) + struct.pack(">BI", 77, 3) + b"new" + codec.sections([codec.encode_claim(EAST)], [])
    )
    assert isinstance(heard, Message)
    assert heard.claims == (EAST,)


def test_bytes_after_a_claims_address_are_skipped() -> None:
    longer = codec.encode_claim(EAST)[1:] + b"later"
    heard = decode(
        encode(PING) + codec.sections([bytes((len(longer),)) + longer, codec.encode_claim(EAST)], [])
    )
    assert isinstance(heard, Message)
    assert heard.claims == (EAST, EAST)


def test_a_claim_of_an_unknown_state_and_a_fact_of_an_unknown_lane_are_skipped() -> None:
    strange = bytearray(codec.encode_claim(EAST))
    strange[1] = 200
    fact = bytearray(codec.encode_fact(Fact(Lane.CERT, "east", 1, 0.0, bytes(8), b"x")))
    fact[4] = 200
    heard = decode(encode(PING) + codec.sections([bytes(strange)], [bytes(fact)]))
    assert isinstance(heard, Message)
    assert (heard.claims, heard.facts) == ((), ())


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(Claim("", "a:1", 1, 1), id="no name"),
        pytest.param(Claim("s" * (MAX_SITE + 1), "a:1", 1, 1), id="a name too long"),
        pytest.param(Claim("east", "a" * (MAX_ADDRESS + 1), 1, 1), id="an address too long"),
    ],
)
def test_what_does_not_fit_is_not_said(claim: Claim) -> None:
    with pytest.raises(Unspeakable):
        codec.encode_claim(claim)
