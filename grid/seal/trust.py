"""Who a site is: the fingerprint of its certificate, against the ones that are pinned for it.

A GridSite becomes Active only when the SHA-256 of its leaf's DER is one of the one or two pinned
fingerprints (two, so that a certificate can be renewed without a gap). Certificates travel between
sites as PEM; anything that could be a private key is discarded before it is looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

Fingerprint = NewType("Fingerprint", str)
"""64 lower-case hex digits: SHA-256 of a certificate's DER."""

MAX_PEM: Final = 64 * 1024
MAX_PINS: Final = 2
_FORBIDDEN: Final = b"PRIVATE KEY"


class Refusal(StrEnum):
    """Why a certificate is not taken; also a condition's reason."""

    TOO_LARGE = "TooLarge"
    PRIVATE_KEY = "PrivateKey"
    UNREADABLE = "Unreadable"
    WRONG_NAME = "WrongName"
    NOT_PINNED = "NotPinned"
    NO_PINS = "NoPins"


@dataclass(frozen=True, slots=True)
class Leaf:
    """common_name: of the subject, empty where there is none. Instants in Unix seconds."""

    fingerprint: Fingerprint
    common_name: str
    not_before: float
    not_after: float


def fingerprint(der: bytes) -> Fingerprint:
    return Fingerprint(hashlib.sha256(der).hexdigest())


def parse_fingerprint(text: str) -> Fingerprint | None:
    """A pin as people write it: hex digits in either case, `:` between pairs or not, `sha256:` before
    them or not. None for anything else."""
    plain = text.strip().lower().removeprefix("sha256:").replace(":", "")
    return Fingerprint(plain) if re.fullmatch(r"[0-9a-f]{64}", plain) else None


def leaf_of(pem: bytes) -> Leaf | Refusal:
    """The first certificate of a PEM text. Never raises, whatever the bytes."""
    if len(pem) > MAX_PEM:
        return Refusal.TOO_LARGE
    if _FORBIDDEN in pem.upper():
        return Refusal.PRIVATE_KEY
    try:
        certificate = x509.load_pem_x509_certificates(pem)[0]
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return Leaf(
            fingerprint(certificate.public_bytes(Encoding.DER)),
            str(names[0].value) if names else "",
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
        )
    except Exception:  # noqa: BLE001 - a parser of foreign bytes; whatever it says, they are no certificate
        return Refusal.UNREADABLE


def is_pinned(found: Fingerprint, pins: Iterable[str]) -> bool:
    """Whether the fingerprint is one of the pins. Malformed pins match nothing."""
    parsed = [pin for text in pins if (pin := parse_fingerprint(text)) is not None]
    return any(hmac.compare_digest(found, pin) for pin in parsed[:MAX_PINS])


def verify(site: str, leaf: Leaf, pins: Iterable[str]) -> Refusal | None:
    """None where the leaf is this site's: its common name is the site, and it is pinned."""
    pins = tuple(pins)
    if not pins:
        return Refusal.NO_PINS
    if leaf.common_name != site:
        return Refusal.WRONG_NAME
    return None if is_pinned(leaf.fingerprint, pins) else Refusal.NOT_PINNED
