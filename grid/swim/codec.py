"""Messages as bytes: fixed heads, length-prefixed names, and sections a reader may skip.

    version 1 (1) | kind (1) | digest (4) | seq (4) | sender | about | at | sections
    section   type (1) | bytes (4) | content          1: claims   2: facts
    claim     bytes (1) | state (1) | incarnation (8) | instance (4) | site | address | ...
    fact      bytes (4) | lane (1) | flags (1) | revision (8) | age in ms (4) | digest (8) | origin | payload
    name      bytes (1) | UTF-8

What a reader of version 1 does with what it does not know: an unknown kind is read for its claims and facts
only; unknown sections, bytes after a claim's address, claims of unknown state, facts of an unknown lane or
flag are skipped. Another version is dropped whole: it is the only thing that may change the layout.

`decode` takes any bytes and never raises.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from grid.swim.members import Claim, State
from grid.swim.messages import Fact, Kind, Lane, Malformed, Message
from grid.swim.tuning import MAX_EXCHANGE, MAX_PAYLOAD, MAX_TEXT

VERSION: Final = 1
MAX_SITE: Final = 128
"""Bytes of a name; a Kubernetes object that serves as a site has at most 63 by our own names."""
MAX_ADDRESS: Final = 100
"""Bytes of `host:port`. With the name it keeps a claim's length in one byte."""
MAX_COUNT: Final = 2**63 - 1
"""Of incarnations and revisions: one more is still a number on the wire."""
DIGEST_BYTES: Final = 8

_HEAD = struct.Struct(">BBII")
_SECTION = struct.Struct(">BI")
_CLAIM = struct.Struct(">BQI")
_FACT = struct.Struct(">BBQI")
_SIZE = struct.Struct(">I")
_CLAIMS, _FACTS = 1, 2
_INLINE = 1
_KINDS = {int(kind): kind for kind in Kind}
_LANES = {int(lane): lane for lane in Lane}
_STATES = {int(state): state for state in State}
SECTION_BYTES: Final = _SECTION.size
MAX_AGE_MS: Final = 2**32 - 1


class Unspeakable(ValueError):
    """Something this node was asked to say does not fit its field. Nothing was changed."""


class _Broken(Exception):
    """The bytes are no message."""


def encode_name(text: str, limit: int) -> bytes:
    """Raises Unspeakable for a name that is empty or over the limit."""
    raw = text.encode()
    if not 0 < len(raw) <= limit:
        raise Unspeakable(f"a name of {len(raw)} bytes; 1 to {limit} are allowed")
    return bytes((len(raw),)) + raw


@lru_cache(maxsize=4096)
def encode_claim(claim: Claim) -> bytes:
    """Raises Unspeakable."""
    body = (
        _CLAIM.pack(claim.state, claim.incarnation, claim.instance)
        + encode_name(claim.site, MAX_SITE)
        + encode_name(claim.address, MAX_ADDRESS)
    )
    return bytes((len(body),)) + body


def encode_fact(fact: Fact) -> bytes:
    return fact_bytes(
        fact_tail(fact.origin, fact.digest, fact.payload),
        fact.lane,
        fact.revision,
        fact.age_s,
        fact.payload is not None,
    )


def fact_tail(origin: str, digest: bytes, payload: bytes | None) -> bytes:
    """The part of a fact that does not change as it ages."""
    return digest + encode_name(origin, MAX_SITE) + (payload or b"")


def fact_bytes(tail: bytes, lane: int, revision: int, age_s: float, inline: bool) -> bytes:
    age_ms = min(max(int(age_s * 1000), 0), MAX_AGE_MS)
    return _SIZE.pack(_FACT.size + len(tail)) + _FACT.pack(lane, inline, revision, age_ms) + tail


def head(kind: Kind, seq: int, digest: int, sender: bytes, about: str = "", at: str = "") -> bytes:
    """A message before its sections. sender: an encoded claim. about, at: at most their limits, or empty."""
    return _HEAD.pack(VERSION, kind, digest, seq) + sender + _spoken(about) + _spoken(at)


@lru_cache(maxsize=4096)
def _spoken(name: str) -> bytes:
    raw = name.encode()
    return bytes((len(raw),)) + raw


def sections(claims: Iterable[bytes], facts: Iterable[bytes]) -> bytes:
    """Encoded claims and facts as sections; nothing for none."""
    parts = []
    for number, items in ((_CLAIMS, b"".join(claims)), (_FACTS, b"".join(facts))):
        if items:
            parts += [_SECTION.pack(number, len(items)), items]
    return b"".join(parts)


def encode(message: Message) -> bytes:
    """The whole of a message of a known kind; what a node does in parts, for others. Raises Unspeakable."""
    if message.kind is None:
        raise Unspeakable("a message of no known kind")
    start = head(
        message.kind, message.seq, message.digest, encode_claim(message.sender), message.about, message.at
    )
    return start + sections(map(encode_claim, message.claims), map(encode_fact, message.facts))


def decode(text: bytes, limit: int = MAX_TEXT) -> Message | Malformed:
    """The message, or why there is none. Never raises, whatever the bytes."""
    if len(text) > limit:
        return Malformed.TOO_LARGE
    if text and text[0] != VERSION:
        return Malformed.VERSION
    try:
        return _message(text)
    except (_Broken, IndexError, struct.error, UnicodeDecodeError):
        return Malformed.MALFORMED


def decode_exchange(text: bytes) -> Message | Malformed:
    return decode(text, MAX_EXCHANGE)


def _message(text: bytes) -> Message:
    _, kind, digest, seq = _HEAD.unpack_from(text)
    at = _HEAD.size
    size = text[at]
    sender = _claim(_cut(text, at + 1, size))
    if sender is None:
        raise _Broken
    at += 1 + size
    about, at = _optional_name(text, at, MAX_SITE)
    address, at = _optional_name(text, at, MAX_ADDRESS)
    claims: list[Claim] = []
    facts: list[Fact] = []
    while at < len(text):
        number, size = _SECTION.unpack_from(text, at)
        content = _cut(text, at + SECTION_BYTES, size)
        at += SECTION_BYTES + size
        if number == _CLAIMS:
            claims += _claims(content)
        elif number == _FACTS:
            facts += _facts(content)
    return Message(_KINDS.get(kind), seq, digest, sender, about, address, tuple(claims), tuple(facts))


def _claims(content: bytes) -> Iterable[Claim]:
    at = 0
    while at < len(content):
        size = content[at]
        claim = _claim(_cut(content, at + 1, size))
        if claim is not None:
            yield claim
        at += 1 + size


@lru_cache(maxsize=8192)
def _claim(raw: bytes) -> Claim | None:
    """Remembered, since the same few thousand claims pass by all day."""
    state, incarnation, instance = _CLAIM.unpack_from(raw)
    site, at = _name(raw, _CLAIM.size, MAX_SITE)
    address, _ = _name(raw, at, MAX_ADDRESS)
    if incarnation > MAX_COUNT:
        raise _Broken
    known = _STATES.get(state)
    return None if known is None else Claim(site, address, instance, incarnation, known)


def _facts(content: bytes) -> Iterable[Fact]:
    at = 0
    while at < len(content):
        (size,) = _SIZE.unpack_from(content, at)
        fact = _fact(_cut(content, at + _SIZE.size, size))
        if fact is not None:
            yield fact
        at += _SIZE.size + size


def _fact(raw: bytes) -> Fact | None:
    lane, flags, revision, age_ms = _FACT.unpack_from(raw)
    at = _FACT.size
    digest = _cut(raw, at, DIGEST_BYTES)
    origin, at = _name(raw, at + DIGEST_BYTES, MAX_SITE)
    payload = raw[at:]
    if revision > MAX_COUNT or len(payload) > MAX_PAYLOAD:
        raise _Broken
    known = _LANES.get(lane)
    if known is None or flags > _INLINE:
        return None
    return Fact(known, origin, revision, age_ms / 1000, digest, payload if flags else None)


def _cut(raw: bytes, start: int, size: int) -> bytes:
    piece = raw[start : start + size]
    if len(piece) != size:
        raise _Broken
    return piece


def _name(raw: bytes, at: int, limit: int) -> tuple[str, int]:
    name, end = _optional_name(raw, at, limit)
    if not name:
        raise _Broken
    return name, end


def _optional_name(raw: bytes, at: int, limit: int) -> tuple[str, int]:
    size = raw[at]
    if not size:
        return "", at + 1
    if size > limit:
        raise _Broken
    return _heard(_cut(raw, at + 1, size)), at + 1 + size


@lru_cache(maxsize=4096)
def _heard(raw: bytes) -> str:
    name = raw.decode()
    if not name.isprintable():
        raise _Broken
    return name
