"""The cluster's own certificates and the kubeconfig of its administrator.

An authority, a server leaf, an admin leaf (O=system:masters) and the signing key of ServiceAccount
tokens, made once and kept in the daemon's folder. All keys are on P-256: an RSA key takes a tenth of a
second to make, a good part of the time that a cluster has to start in.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A lab's certificates outlive the lab; kubeadm's authority has ten years too.
_LIFETIME = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Identity:
    """PEM files of one certificate and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """ca: the authority's certificate (PEM file)."""

    ca: Path
    server: Identity
    admin: Identity
    token_key: ec.EllipticCurvePrivateKey


def ensure(folder: Path, hosts: tuple[str, ...], now: datetime) -> Certificates:
    """The certificates kept in *folder*; made, with *hosts* as the server's names, where absent."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ca, ca_key = _authority(folder, now)
    server = _leaf(folder, "server", ca, ca_key, now, common_name="kube-apiserver", hosts=hosts)
    admin = _leaf(
        folder, "admin", ca, ca_key, now, common_name="kubernetes-admin", organization="system:masters"
    )
    return Certificates(folder / "ca.crt", server, admin, _token_key(folder))


def _authority(folder: Path, now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    certificate, key = folder / "ca.crt", folder / "ca.key"
    if certificate.exists() and key.exists():
        return x509.load_pem_x509_certificate(certificate.read_bytes()), _loaded(key)
    made = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=False, key_encipherment=True,
        content_commitment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
    built = (
        _builder(name, name, made.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(made.public_key()), critical=False)
        .sign(made, hashes.SHA256())
    )
    _write(key, _pem(made))
    _write(certificate, built.public_bytes(serialization.Encoding.PEM))
    return built, made


def _leaf(
    folder: Path,
    name: str,
    ca: x509.Certificate,
    ca_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    *,
    common_name: str,
    organization: str = "",
    hosts: tuple[str, ...] = (),
) -> Identity:
    identity = Identity(folder / f"{name}.crt", folder / f"{name}.key")
    if identity.certificate.exists() and identity.key.exists() and _covers(identity.certificate, hosts):
        return identity
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = (
        _builder(subject, ca.subject, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
    )
    if hosts:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_host(h) for h in hosts]), critical=False
        )
    _write(identity.key, _pem(key))
    _write(
        identity.certificate, builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return identity


def _covers(certificate: Path, hosts: tuple[str, ...]) -> bool:
    if not hosts:
        return True
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    present = {
        str(value) for kind in (x509.DNSName, x509.IPAddress) for value in names.get_values_for_type(kind)
    }
    return set(hosts) <= present


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _token_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    path = folder / "sa.key"
    if path.exists():
        with contextlib.suppress(TypeError):  # one of another kind, by an earlier version of this program
            return _loaded(path)
    key = ec.generate_private_key(ec.SECP256R1())
    _write(path, _pem(key))
    return key


def _loaded(path: Path) -> ec.EllipticCurvePrivateKey:
    loaded = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{path} is no key of ours")
    return loaded


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)


def server_context(certificates: Certificates) -> ssl.SSLContext:
    """TLS for the one port: a client may show a certificate of this authority, or none."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.ca))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def kubeconfig(name: str, server: str, certificates: Certificates) -> str:
    """A kubeconfig with exactly one cluster, user and context, as kind's tools expect it."""

    def inline(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    user = f"{name}-admin"
    return (
        "apiVersion: v1\nkind: Config\n"
        f"clusters:\n- name: {name}\n  cluster:\n    server: {server}\n"
        f"    certificate-authority-data: {inline(certificates.ca)}\n"
        f"users:\n- name: {user}\n  user:\n"
        f"    client-certificate-data: {inline(certificates.admin.certificate)}\n"
        f"    client-key-data: {inline(certificates.admin.key)}\n"
        f"contexts:\n- name: {name}\n  context:\n    cluster: {name}\n    user: {user}\n"
        f"current-context: {name}\npreferences: {{}}\n"
    )
