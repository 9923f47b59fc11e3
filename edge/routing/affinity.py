"""Session affinity: which of several equivalent candidates a session prefers, the same on every edge.

    lp(x)  = length of x as 8 bytes big-endian, then x
    key    = HMAC-SHA-256(secret, lp("praxis-affinity-v1") lp(tenant) lp(session) lp(kind) lp(name) lp(class))
    score  = HMAC-SHA-256(key, lp(stable_id))         the highest wins; of two equal the greater stable_id

Rendezvous hashing (Thaler and Ravishankar 1998): each session orders the candidates for itself, so that one
that goes away moves its own sessions and no others. The secret keeps clients from computing where a session
lands. Tenant and session leave this file only as the key. Vectors: tests/golden/affinity.json.

Who remembers what was placed is in `bindings`; which candidates are equivalent, in `select`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256

from grid.contract.overlay import Candidate

VERSION = b"praxis-affinity-v1"
# Route classes do not exist yet; an empty one holds their place, so that they come without a new version.
ROUTE_CLASS = b""
# A UUID is 36 bytes, a conversation id of the known APIs under 70.
MAX_SESSION_BYTES = 128

# C0, DEL, and C1 as UTF-8 writes it; other bytes of an opaque id mean nothing here.
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]")
_PRINTABLE = bytes(
    range(0x20, 0x7F)
)  # nearly every id is made of these alone; taking them out is a quick look
_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))
_HEAD = len(VERSION).to_bytes(8, "big") + VERSION


class BadSession(Exception):
    """A session header is there and is not one sound id; the request is refused with 400. Its text never
    quotes the header."""


def read_session(value: bytes | None, *, repeated: bool, max_bytes: int = MAX_SESSION_BYTES) -> bytes | None:
    """The session's id, None when the request has none. repeated: the header stood on more than one line.

    Raises BadSession: routing silently otherwise than the client asked for would be worse than refusing.
    """
    if value is None:
        return None
    if repeated:
        raise BadSession("must be sent once")
    if not 1 <= len(value) <= max_bytes:
        raise BadSession(f"must be 1 to {max_bytes} bytes long")
    if value.translate(None, _PRINTABLE) and _CONTROL.search(value):
        raise BadSession("must not hold control characters")
    return value


class Secret:
    """An affinity secret, held as the two hash states that HMAC derives from it: the bytes themselves are
    not kept, so no dump, repr or copy of this object can give them away."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, material: bytes | bytearray) -> None:
        """Raises ValueError when *material* is empty. A bytearray may be wiped by the caller afterwards."""
        if not material:
            raise ValueError("an affinity secret must not be empty")
        block = bytearray(sha256(material).digest() if len(material) > _BLOCK else material)
        block.extend(bytes(_BLOCK - len(block)))
        pads = block.translate(_INNER), block.translate(_OUTER)
        self._inner, self._outer = (sha256(pad) for pad in pads)
        for used in (block, *pads):
            used[:] = bytes(_BLOCK)

    def sign(self, message: bytes) -> bytes:
        """HMAC-SHA-256 of *message*."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    def __reduce__(self) -> str:
        raise TypeError("an affinity secret does not leave its process")


def lp(part: bytes) -> bytes:
    """*part* with its length before it: two lists of framed parts are equal only when each part is."""
    return len(part).to_bytes(8, "big") + part


def session_key(secret: Secret, tenant: str, session: bytes, kind: str, name: str) -> bytes:
    """The affinity key, 32 bytes. tenant: as authentication gave it, never a client's word."""
    return secret.sign(_opening(tenant) + len(session).to_bytes(8, "big") + session + _ending(kind, name))


@lru_cache(maxsize=1024)
def _opening(tenant: str) -> bytes:
    """What stands before the session; tenants are the configuration's own."""
    return _HEAD + lp(tenant.encode())


@lru_cache(maxsize=1024)
def _ending(kind: str, name: str) -> bytes:
    """What stands after it; capabilities are the overlay's, as many as candidates at most."""
    return lp(kind.encode()) + lp(name.encode()) + lp(ROUTE_CLASS)


def tenant_tag(secret: Secret, tenant: str) -> bytes:
    """A tenant's name for tables that outlive a request: 16 bytes that do not say who it is."""
    return secret.sign(lp(b"praxis-affinity-tenant-v1") + lp(tenant.encode()))[:16]


def scores(key: bytes, frames: Iterable[bytes]) -> list[bytes]:
    """Each candidate's score for *key*, 32 bytes, in their order. frames: `lp` of each stable_id.

    HMAC is written out (RFC 2104, 2): a selection makes one for each candidate under one key, whose two hash
    states are made once; the library's one-shot call costs twice as much.
    """
    block = key.ljust(_BLOCK, b"\0")
    inner, outer = sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))
    found = []
    for frame in frames:
        within, around = inner.copy(), outer.copy()
        within.update(frame)
        around.update(within.digest())
        found.append(around.digest())
    return found


def rendezvous(key: bytes, candidates: Sequence[Candidate], frames: Sequence[bytes]) -> Candidate:
    """The candidate *key* prefers; at least one must be given, their order does not matter.

    frames: `lp` of each one's stable_id, in the candidates' order.
    """
    if len(candidates) == 1:
        return candidates[0]
    found = scores(key, frames)
    highest = max(found)
    first = candidates[found.index(highest)]
    if found.count(highest) == 1:
        return first
    tied = (candidate for candidate, score in zip(candidates, found, strict=True) if score == highest)
    return max(tied, key=lambda candidate: candidate.stable_id)
