"""What origins say in the four lanes, as one node holds it: the highest revision of each, and its age.

A fact too large for a datagram is announced by its digest. Who does not hold those bytes wants them, and
fetches them by push/pull from whoever announced: that one has them. A refresh of bytes one holds already
needs no fetch, whatever their size.

An origin uses a revision once; one that lost its memory may not know. Of two facts under one revision the
greater digest stands, everywhere, until the origin hears of it and goes beyond both.

Ages count from the origin's saying, by each holder's own clock; no clock is compared with another site's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

from grid.swim.codec import DIGEST_BYTES, MAX_COUNT, Unspeakable, fact_bytes, fact_tail
from grid.swim.messages import Fact, Lane
from grid.swim.tuning import MAX_INLINE, MAX_PAYLOAD

Key = tuple[Lane, str]
"""(lane, origin)."""

FETCH_TRIES = 5
"""After these the regular push/pull has to bring it."""


def digest_of(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:DIGEST_BYTES]


@dataclass(slots=True)
class Held:
    """said_at: when its origin said so, on this node's clock."""

    lane: Lane
    origin: str
    revision: int
    digest: bytes
    payload: bytes
    said_at: float

    @property
    def key(self) -> Key:
        return self.lane, self.origin

    @property
    def is_inline(self) -> bool:
        return len(self.payload) <= MAX_INLINE

    def spoken(self, now: float, *, whole: bool) -> bytes:
        """As it is sent. whole: by stream, with its bytes whatever their size."""
        return self._as_bytes(now, inline=whole or self.is_inline)

    def announced(self, now: float) -> bytes:
        """By its digest alone."""
        return self._as_bytes(now, inline=False)

    def _as_bytes(self, now: float, *, inline: bool) -> bytes:
        tail = fact_tail(self.origin, self.digest, self.payload if inline else None)
        return fact_bytes(tail, self.lane, self.revision, now - self.said_at, inline)

    def mark(self) -> int:
        return crc32(f"{self.lane:d}/{self.origin}/{self.revision}/".encode() + self.digest)


@dataclass(slots=True)
class Want:
    """Bytes announced and not held. address: of who announced them."""

    revision: int
    address: str
    next_at: float
    tries: int = 0


class Facts:
    """limit: how many are held. digest: of all of them."""

    __slots__ = ("_held", "digest", "limit", "wants")

    def __init__(self, limit: int) -> None:
        self._held: dict[Key, Held] = {}
        self.wants: dict[Key, Want] = {}
        self.digest = 0
        self.limit = limit

    def __iter__(self) -> Iterator[Held]:
        return iter(self._held.values())

    def get(self, lane: Lane, origin: str) -> Held | None:
        return self._held.get((lane, origin))

    def revisions(self, origin: str) -> Mapping[Lane, int]:
        return {h.lane: h.revision for h in self._held.values() if h.origin == origin}

    def say(self, lane: Lane, origin: str, revision: int, payload: bytes, now: float) -> Held:
        """The node's own. Raises Unspeakable for a payload over the bound; nothing is changed then."""
        if len(payload) > MAX_PAYLOAD:
            raise Unspeakable(f"a fact of {len(payload)} bytes; {MAX_PAYLOAD} are allowed")
        return self._keep(Held(lane, origin, revision, digest_of(payload), payload, now))

    def hear(self, fact: Fact, holder: str, now: float) -> Held | None:
        """The fact as it is held now, or None where it is no news or its bytes are yet to be fetched."""
        key = (fact.lane, fact.origin)
        held = self._held.get(key)
        if held is not None and (fact.revision, fact.digest) <= (held.revision, held.digest):
            return None
        payload = fact.payload
        if payload is None:
            if held is None or held.digest != fact.digest:
                self._want(key, fact, holder, now)
                return None
            payload = held.payload
        if held is None and len(self._held) >= self.limit:
            return None
        said_at = now - fact.age_s
        return self._keep(Held(fact.lane, fact.origin, fact.revision, digest_of(payload), payload, said_at))

    def forget(self, origin: str) -> None:
        for lane in Lane:
            self.wants.pop((lane, origin), None)
            if held := self._held.pop((lane, origin), None):
                self.digest ^= held.mark()

    def strangers(self, known: Mapping[str, object], said_before: float) -> list[str]:
        """Origins that are no members and have said nothing since."""
        return [h.origin for h in self._held.values() if h.origin not in known and h.said_at < said_before]

    def next_want(self, resting: Mapping[str, float]) -> float:
        """When a want is due. resting: address -> until when nothing is fetched there."""
        return min(max(want.next_at, resting.get(want.address, 0.0)) for want in self.wants.values())

    def due_wants(self, now: float, again_s: float, resting: Mapping[str, float]) -> list[str]:
        """Addresses to fetch from now; each want is due again after a while, until its tries are used up."""
        addresses: dict[str, None] = {}
        for key, want in list(self.wants.items()):
            if max(want.next_at, resting.get(want.address, 0.0)) > now:
                continue
            addresses[want.address] = None
            want.next_at, want.tries = now + again_s, want.tries + 1
            if want.tries >= FETCH_TRIES:
                del self.wants[key]
        return list(addresses)

    def _want(self, key: Key, fact: Fact, holder: str, now: float) -> None:
        want = self.wants.get(key)
        if want is not None and want.revision >= fact.revision:
            want.address = holder
        elif want is not None or len(self.wants) < self.limit:
            self.wants[key] = Want(fact.revision, holder, now)

    def _keep(self, held: Held) -> Held:
        key = (held.lane, held.origin)
        if (before := self._held.get(key)) is not None:
            self.digest ^= before.mark()
        if (want := self.wants.get(key)) is not None and want.revision <= held.revision:
            del self.wants[key]
        self._held[key] = held
        self.digest ^= held.mark()
        return held


def next_revision(revision: int) -> int:
    return min(revision + 1, MAX_COUNT)
