"""Sealed datagrams: AES-256-GCM, bound to one grid, with a keyring that can be rotated.

    "GRID" (4) | version 0x01 (1) | nonce (12) | ciphertext | tag (16)        33 bytes more than the text

The grid's id is the associated data: what another grid sealed with the same key does not open. The
first key of the ring seals, every key opens, so keys are rotated by adding the new one everywhere, then
moving it to the front everywhere, then dropping the old one; no datagram is lost on the way.

Nonces are random, 96 bits: with one key, 2**32 datagrams may be sealed before two nonces meet with a
chance of 2**-32 (NIST SP 800-38D, 8.3); at a thousand a second that is seven weeks, so keys want rotating.

What does not open is dropped and counted by its reason; there is no plaintext mode to fall back to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC: Final = b"GRID"
VERSION: Final = 1
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
OVERHEAD: Final = len(MAGIC) + 1 + NONCE_BYTES + TAG_BYTES
MAX_DATAGRAM: Final = 1400
"""Fits an Ethernet frame with room for tunnels' headers; as memberlist and the reference implementation."""
MAX_TEXT: Final = MAX_DATAGRAM - OVERHEAD


class Drop(StrEnum):
    """Why a datagram was dropped; also a metric's label."""

    TOO_SHORT = "too_short"
    TOO_LARGE = "too_large"
    NOT_OURS = "not_ours"  # no magic: plaintext, or another protocol
    VERSION = "version"
    NOT_AUTHENTIC = "not_authentic"  # wrong key, wrong grid, or tampered with: nobody can tell which


class KeyUnusable(ValueError):
    """A configured key that cannot be one. Says which and why, and never the key."""


@dataclass(frozen=True, slots=True)
class Opened:
    """text: what was sealed. key: which of the ring opened it, 0 for the one that seals now."""

    text: bytes
    key: int


class Keyring:
    """grid_id: whom it is for. keys: 32 bytes each, the sealing one first, at least one.

    Raises KeyUnusable for any that is malformed, so that a grid with a bad key does not start.
    """

    __slots__ = ("_aad", "_ciphers", "_nonce")

    def __init__(self, grid_id: str, keys: Sequence[bytes], nonce: Callable[[], bytes]) -> None:
        if not grid_id:
            raise KeyUnusable("a keyring needs the id of its grid")
        if not keys:
            raise KeyUnusable("a keyring needs at least one key")
        for place, key in enumerate(keys):
            if len(key) != KEY_BYTES:
                raise KeyUnusable(f"key {place} has {len(key)} bytes, {KEY_BYTES} are needed")
            if not any(key):
                raise KeyUnusable(f"key {place} is all zeros")
        if len(set(keys)) != len(keys):
            raise KeyUnusable("one key stands in the ring twice")
        self._aad = grid_id.encode()
        self._ciphers = tuple(AESGCM(key) for key in keys)
        self._nonce = nonce

    def seal(self, text: bytes) -> bytes:
        """The datagram. Raises ValueError for a text over MAX_TEXT."""
        if len(text) > MAX_TEXT:
            raise ValueError(f"{len(text)} bytes do not fit a datagram of {MAX_DATAGRAM}")
        return self.seal_frame(text)

    def seal_frame(self, text: bytes) -> bytes:
        """As seal, of any size: for streams, which have a bound of their own."""
        nonce = self._nonce()
        return b"".join((MAGIC, bytes((VERSION,)), nonce, self._ciphers[0].encrypt(nonce, text, self._aad)))

    def open(self, datagram: bytes, *, limit: int = MAX_DATAGRAM) -> Opened | Drop:
        """What was sealed, or why it is dropped. Never raises, whatever the bytes."""
        if len(datagram) > limit:
            return Drop.TOO_LARGE
        if not datagram.startswith(MAGIC):
            return Drop.TOO_SHORT if MAGIC.startswith(datagram) else Drop.NOT_OURS
        if len(datagram) < OVERHEAD:
            return Drop.TOO_SHORT
        if datagram[len(MAGIC)] != VERSION:
            return Drop.VERSION
        start = len(MAGIC) + 1
        nonce, sealed = datagram[start : start + NONCE_BYTES], datagram[start + NONCE_BYTES :]
        for place, cipher in enumerate(self._ciphers):
            try:
                return Opened(cipher.decrypt(nonce, sealed, self._aad), place)
            except InvalidTag:
                continue
        return Drop.NOT_AUTHENTIC
