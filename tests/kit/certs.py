"""Certificates for tests: an authority, leaves with any names, as files and as contexts."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Leaf:
    """certificate, key: PEM files. der: the leaf's DER."""

    certificate: Path
    key: Path
    der: bytes


class Authority:
    """A CA whose files lie in *folder*."""

    def __init__(self, folder: Path, name: str = "test-ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.path = folder / f"{name}.crt"
        certificate = (
            _builder(self._name, self._name, self._key, days=20_000)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def leaf(
        self,
        name: str = "localhost",
        *,
        names: tuple[str, ...] = (),
        uris: tuple[str, ...] = (),
        organizations: tuple[str, ...] = (),
        expired: bool = False,
        file: str | None = None,
    ) -> Leaf:
        """A leaf for server and client use; *names* beside the common name, IP addresses among them."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        subject += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, o) for o in organizations]
        alternatives = [*map(_general, (name, *names)), *map(x509.UniformResourceIdentifier, uris)]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            _builder(x509.Name(subject), self._name, key, days=1 if expired else 20_000)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(usage, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = file or name.replace("*", "wild")
        return _write(self._folder, stem, certificate, key)


def client_context(
    authority: Authority | None,
    leaf: Leaf | None = None,
    *,
    maximum: ssl.TLSVersion | None = None,
) -> ssl.SSLContext:
    """A client's context: trusts *authority* (nobody is checked without one), shows *leaf*."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cafile=authority.path)
    if leaf is not None:
        context.load_cert_chain(leaf.certificate, leaf.key)
    if maximum is not None:
        context.maximum_version = maximum
    return context


def server_context(leaf: Leaf, *, clients: Authority | None = None) -> ssl.SSLContext:
    """A server's context; with *clients* it requires a certificate of theirs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf.certificate, leaf.key)
    if clients is not None:
        context.load_verify_locations(cafile=clients.path)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_LONG_AGO)
        .not_valid_after(_LONG_AGO + timedelta(days=days))
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(folder: Path, stem: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Leaf:
    made = Leaf(
        folder / f"{stem}.crt", folder / f"{stem}.key", certificate.public_bytes(serialization.Encoding.DER)
    )
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made
