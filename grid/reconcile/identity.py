"""Our certificate, its key and the grid's CA, from a mounted Secret: held to what they must be, never made.

    tls.crt   our leaf: common name our site, issued by ca.crt, in its time, one of our GridSite's pins
    tls.key   the leaf's key, and only there
    ca.crt    who issues the grid's leaves

The operator makes neither a certificate nor a CA, whatever is missing: another CA would cut every site off.
What is wrong is said by name, and mended by whoever keeps the Secret. No byte of a file is in what is said.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from grid.crd.site import GridSite
from grid.reconcile.world import Identified, Trust
from grid.seal.trust import Leaf, Refusal, leaf_of, verify

CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
# A bundle of sixteen large CAs; a key or a chain is a few KiB.
_MAX_BYTES = 256 * 1024
_MAX_CHAIN = 4
_SECRET = b"PRIVATE KEY"
_REFUSED = {
    Refusal.TOO_LARGE: "is too large",
    Refusal.PRIVATE_KEY: "holds a private key: give it a new key, and put the certificate here",
    Refusal.UNREADABLE: "holds no certificate that can be read",
}
_UNVERIFIED = {
    Refusal.WRONG_NAME: Identified(
        Trust.IDENTITY_MISMATCH, "the common name of tls.crt is not our site's name"
    ),
    Refusal.NO_PINS: Identified(Trust.TRUST_MATERIAL_MISSING, "our GridSite has no canonicalFingerprints"),
    Refusal.NOT_PINNED: Identified(
        Trust.PIN_MISMATCH, "tls.crt is none of the certificates our GridSite pins"
    ),
}

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True)
class Identity:
    """The three files in *folder*; read again when one of them is another, as when a Secret is renewed."""

    folder: Path
    _stamp: Stamp = ()
    _read: Leaf | Identified | None = None
    _contexts: dict[tuple[bool, bool], ssl.SSLContext] = field(default_factory=dict)

    def context(self, *, check_name: bool, show: bool = True) -> ssl.SSLContext:
        """A context that trusts the grid's CA alone, and shows our certificate if *show*.

        Raises OSError (SSLError is one) where the files make none.
        """
        self._refresh()
        made = self._contexts.get((check_name, show))
        if made is None:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            made.minimum_version = ssl.TLSVersion.TLSv1_2
            made.check_hostname = check_name
            made.load_verify_locations(self.folder / CA)
            if show:
                made.load_cert_chain(self.folder / CERTIFICATE, self.folder / KEY)
            self._contexts[check_name, show] = made
        return made

    def check(self, site: GridSite, now: float) -> Identified:
        """Whether the files make us *site*: Unix seconds, since certificates have their time."""
        self._refresh()
        if not isinstance(self._read, Leaf):
            return self._read or Identified(Trust.TRUST_MATERIAL_MISSING)
        if now < self._read.not_before:
            return Identified(Trust.CERTIFICATE_NOT_YET_VALID, "tls.crt is not valid yet")
        if now > self._read.not_after:
            return Identified(Trust.CERTIFICATE_EXPIRED, "tls.crt has expired")
        trust = site.spec.trust
        if trust is not None and trust.cert_fingerprint is not None:
            return Identified(
                Trust.TRUST_MATERIAL_INVALID, "certFingerprint proves nothing: use canonicalFingerprints"
            )
        pins = trust.canonical_fingerprints if trust else None
        refused = verify(site.metadata.name, self._read, pins or ())
        return Identified(Trust.VERIFIED) if refused is None else _UNVERIFIED[refused]

    def _refresh(self) -> None:
        stamp = tuple(_stamp(self.folder / name) for name in (CA, CERTIFICATE, KEY))
        if stamp != self._stamp:
            self._stamp, self._read = stamp, read_identity(self.folder)
            self._contexts.clear()


def read_identity(folder: Path) -> Leaf | Identified:
    """Our leaf, if the three files fit together; else what is wrong with them."""
    texts: dict[str, bytes] = {}
    for name in (CA, CERTIFICATE, KEY):
        try:
            with (folder / name).open("rb") as file:
                texts[name] = file.read(_MAX_BYTES + 1)
        except OSError:
            return Identified(Trust.TRUST_MATERIAL_MISSING, f"{name} cannot be read from the site's Secret")
        if len(texts[name]) > _MAX_BYTES:
            return _invalid(name, _REFUSED[Refusal.TOO_LARGE])
    leaf = leaf_of(texts[CERTIFICATE])
    if isinstance(leaf, Refusal):
        return _invalid(CERTIFICATE, _REFUSED[leaf])
    if _SECRET in texts[CA].upper():
        return _invalid(CA, _REFUSED[Refusal.PRIVATE_KEY])
    return _unfit(texts) or leaf


def _unfit(texts: dict[str, bytes]) -> Identified | None:
    """What keeps three files, each sound by itself, from being one identity."""
    try:
        authorities = x509.load_pem_x509_certificates(texts[CA])
    except ValueError:
        return _invalid(CA, _REFUSED[Refusal.UNREADABLE])
    chain = x509.load_pem_x509_certificates(texts[CERTIFICATE])[:_MAX_CHAIN]
    try:
        key = load_pem_private_key(texts[KEY], None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return _invalid(KEY, "holds no private key that can be read without a password")
    whole = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if key.public_bytes(*whole) != chain[0].public_key().public_bytes(*whole):
        return _invalid(KEY, "is not the key of tls.crt")
    for issuer in chain[1:]:
        if not _is_issued(chain[0], issuer):
            break
        chain = chain[1:]
    if not any(_is_issued(chain[0], authority) for authority in authorities):
        return Identified(Trust.UNTRUSTED_ISSUER, "tls.crt was not issued by ca.crt")
    return None


def _is_issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _invalid(name: str, why: str) -> Identified:
    return Identified(Trust.TRUST_MATERIAL_INVALID, f"{name} {why}")


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What is another as soon as the file is: links are followed, as a mounted Secret swaps one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)
