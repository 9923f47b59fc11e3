"""Keys and certificates: the one place of Forge that loads `cryptography`, when something is signed.

ECDSA P-256 throughout: every client of this decade takes it, keys are made in well under a
millisecond, and a handshake costs a fraction of RSA's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from forge.plan.lab_resources import LeafResource

Key = ec.EllipticCurvePrivateKey
Subject = tuple[str, str | None]

BACKDATED: Final = timedelta(minutes=5)
"""How far before its making a certificate begins: clocks of other machines may lag so much."""

_USAGES: Final = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}


@dataclass(frozen=True, slots=True)
class Certificate:
    """One that was read or made. key_id: of its own public key. made_at, not_after: Unix seconds."""

    pem: bytes
    sha256: str
    key_id: str
    subject: Subject
    made_at: float
    not_after: float


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and the key it belongs to."""

    certificate: Certificate
    key: Key

    @property
    def key_id(self) -> str:
        return self.certificate.key_id


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_key(pem: bytes | None) -> Key | None:
    """None where it is no private key that can be used here."""
    if pem is None:
        return None
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Key) else None


def key_id(key: Key | ec.EllipticCurvePublicKey) -> str:
    """Hex SHA-256 of the public key (its DER SubjectPublicKeyInfo)."""
    public = key.public_key() if isinstance(key, Key) else key
    return sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def read_certificate(pem: bytes | None) -> Certificate | None:
    """None where it is no certificate that this module could have made."""
    if pem is None:
        return None
    try:
        return _certificate(x509.load_pem_x509_certificate(pem))
    except (ValueError, TypeError, UnsupportedAlgorithm, IndexError):
        return None


def _certificate(made: x509.Certificate) -> Certificate:
    public = made.public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise TypeError("no EC key")
    organizations = made.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return Certificate(
        pem=made.public_bytes(Encoding.PEM),
        sha256=sha256(made.public_bytes(Encoding.DER)).hexdigest(),
        key_id=key_id(public),
        subject=(
            str(made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value),
            str(organizations[0].value) if organizations else None,
        ),
        made_at=(made.not_valid_before_utc + BACKDATED).timestamp(),
        not_after=made.not_valid_after_utc.timestamp(),
    )


def certify(subject: Subject, key: Key, now: float, lifetime_s: float) -> Certificate:
    """An authority's own certificate, signed by itself. Raises ValueError for names it cannot carry."""
    name = _name(subject)
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(name, name, key, now, now + lifetime_s)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False)
    )
    return _certificate(builder.sign(key, SHA256()))


def issue(wanted: LeafResource, key: Key, authority: Authority, now: float) -> Certificate:
    """A leaf for this key. It ends no later than its authority. Raises ValueError as certify does."""
    signer = x509.load_pem_x509_certificate(authority.certificate.pem)
    until = min(now + wanted.lifetime_s, authority.certificate.not_after)
    subject = _name((wanted.common_name, wanted.organization))
    builder = (
        _builder(subject, signer.subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([_USAGES[u] for u in wanted.usages]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False
        )
    )
    names = _alternative_names(wanted)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _certificate(builder.sign(authority.key, SHA256()))


def _alternative_names(wanted: LeafResource) -> list[x509.GeneralName]:
    return [
        *(x509.DNSName(name) for name in wanted.dns),
        *(x509.IPAddress(ip_address(address)) for address in wanted.ip),
        *(x509.UniformResourceIdentifier(uri) for uri in wanted.uri),
    ]


def _builder(
    subject: x509.Name, issuer: x509.Name, key: Key, now: float, until: float
) -> x509.CertificateBuilder:
    begun = datetime.fromtimestamp(int(now), UTC) - BACKDATED
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begun)
        .not_valid_after(datetime.fromtimestamp(int(until), UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(subject: Subject) -> x509.Name:
    name, organization = subject
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if organization is not None:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
