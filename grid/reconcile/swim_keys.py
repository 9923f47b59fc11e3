"""The keys that seal a network's membership: a Secret as a ring, or why it is none. Never shows a byte of it.

data.key        32 raw bytes; seals, and opens          (swimKeyRef.key names another)
data.previous   32 raw bytes, optional; opens only, while keys are rotated
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grid.crd.base import SecretRef
from grid.seal.aead import Keyring, KeyUnusable

KEY: Final = "key"
PREVIOUS: Final = "previous"


@dataclass(frozen=True, slots=True)
class NoKey:
    """reason: a condition's. message: where and why, and nothing of the key."""

    reason: str
    message: str


def keys_of(secret: Mapping[str, Any], ref: SecretRef) -> tuple[bytes, ...] | NoKey:
    """The keys of a Secret's document, the sealing one first."""
    where = f"Secret {ref.namespace}/{ref.name}"
    data = secret.get("data") or {}
    name = ref.key or KEY
    if name not in data:
        return NoKey("SwimKeyMalformed", f"{where} has no {name}")
    try:
        keys = [base64.b64decode(data[each], validate=True) for each in (name, PREVIOUS) if each in data]
    except (binascii.Error, ValueError, TypeError):
        return NoKey("SwimKeyMalformed", f"{where} is not base64")
    return tuple(dict.fromkeys(keys))


def ring_of(
    keys: tuple[bytes, ...], grid_id: str, ref: SecretRef, nonce: Callable[[], bytes]
) -> Keyring | NoKey:
    """A ring of these keys, or which of them is none."""
    try:
        return Keyring(grid_id, keys, nonce)
    except KeyUnusable as fault:
        return NoKey("SwimKeyMalformed", f"Secret {ref.namespace}/{ref.name}: {fault}")
