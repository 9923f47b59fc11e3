"""TLS material becomes contexts: for listeners with several names, for upstreams, and renewed while in use.

Anything unreadable is an error that names the file; there is no fallback to plaintext, to no verification or
to another certificate. A listener is given one front context for its whole life. The front has no
certificate: at each handshake it hands over to the context that serves the name asked for, so that a reload
is one assignment and touches no connection.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

ClientCertMode = Literal["none", "request", "require"]

_MAX_VERIFIED = 10_000
"""Certificates remembered; those past it merely cannot resume sessions."""

_VERIFY: Mapping[ClientCertMode, ssl.VerifyMode] = {
    "none": ssl.CERT_NONE,
    "request": ssl.CERT_OPTIONAL,
    "require": ssl.CERT_REQUIRED,
}


_UNTRUSTED = frozenset(("PEER_DID_NOT_RETURN_A_CERTIFICATE", "TLSV1_ALERT_UNKNOWN_CA"))


class TlsUnusable(Exception):
    """Key material that cannot be used. what: the file or name at fault. why: what the library said.

    Raised before anything was changed.
    """

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """certificate: PEM, leaf first. server_names: exact, or "*.example" for one label. default: serves a
    client that names nobody, or nobody known."""

    certificate: Path
    key: Path
    server_names: tuple[str, ...] = ()
    default: bool = False


@dataclass(frozen=True, slots=True)
class ListenerFiles:
    """certificates: at least one; a single one serves every name. client_ca: needed unless the mode is
    none."""

    certificates: tuple[CertificateFiles, ...]
    client_ca: Path | None = None
    client_cert_mode: ClientCertMode = "none"
    min_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


@dataclass(frozen=True, slots=True)
class UpstreamFiles:
    """ca: None means the system's. certificate and key: what to show, both or neither. verify: False trusts
    anybody and must have been asked for by name."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    verify: bool = True


class _Watched(ssl.SSLObject):
    """A handshake that tells when the other side turned out not to be whom we trust."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if isinstance(error, ssl.SSLCertVerificationError) or error.reason in _UNTRUSTED:
                self.untrusted()
            raise

    def untrusted(self) -> None:
        """Hears of it; each listener has its own."""


class ListenerTls:
    """context and vets: for the listener, for its whole life. untrusted: called for each client whose
    certificate is missing or not one of the CA's."""

    def __init__(self, files: ListenerFiles) -> None:
        """Raises TlsUnusable."""
        self._files = files
        self._by_name, self._default = _load(files)
        self.context = _front(files)
        self.context.sni_callback = self._hand_over
        self.untrusted: Callable[[], None] = lambda: None
        told = {"untrusted": lambda _: self.untrusted()}
        self.context.sslobject_class = type("Watched", (_Watched,), told)
        self._verified: set[bytes] = set()

    def reload(self) -> None:
        """Read the files again; the next handshake uses them. Raises TlsUnusable, and then the old ones
        stay."""
        self._by_name, self._default = _load(self._files)
        self._verified = set()

    def vets(self, tls: ssl.SSLObject) -> bool:
        """Whether a connection that has shaken hands may stay.

        A resumed session is not verified again, and Python cannot switch TLS 1.2's session cache off; so one
        may only stay when its certificate has been verified since the files were last read.
        """
        certificate = tls.getpeercert(binary_form=True)
        if certificate is None:
            return True
        digest = sha256(certificate).digest()
        if tls.session_reused:
            return digest in self._verified
        if len(self._verified) < _MAX_VERIFIED:
            self._verified.add(digest)
        return True

    def _hand_over(self, tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        context = self._named(name) or self._default
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        tls.context = context
        return None

    def _named(self, name: str | None) -> ssl.SSLContext | None:
        if name is None:
            return None
        lowered = name.lower()
        return self._by_name.get(lowered) or self._by_name.get("*." + lowered.partition(".")[2])


class UpstreamContext:
    """Callable: the context for the next connection, as `edge.wire.pool.UpstreamTls` wants it."""

    def __init__(self, files: UpstreamFiles) -> None:
        """Raises TlsUnusable."""
        self._files = files
        self._context = _upstream(files)

    def __call__(self) -> ssl.SSLContext:
        return self._context

    def reload(self) -> None:
        """Read the files again. Raises TlsUnusable, and then the old ones stay."""
        self._context = _upstream(self._files)


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """Who a verified certificate says its holder is.

    digest: SHA-256 of the leaf's DER, 64 lower-case hex digits. spiffe: its spiffe:// URI SAN; None without
    one or with more than one (the SPIFFE X.509-SVID standard, section 2, wants exactly one URI).
    organization: the only O of the subject, None otherwise. serial: lower-case hex. names: its DNS SANs,
    lower case.
    """

    digest: str
    spiffe: str | None
    organization: str | None
    serial: str
    names: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def peer_identity(certificate: bytes) -> PeerIdentity:
    """The identity in a DER leaf that the handshake has verified. Parsed once per certificate."""
    leaf = x509.load_der_x509_certificate(certificate)
    organizations = leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    uris = _alternatives(leaf, x509.UniformResourceIdentifier)
    return PeerIdentity(
        digest=sha256(certificate).hexdigest(),
        spiffe=uris[0] if len(uris) == 1 and uris[0].startswith("spiffe://") else None,
        organization=str(organizations[0].value) if len(organizations) == 1 else None,
        serial=f"{leaf.serial_number:x}",
        names=frozenset(name.lower() for name in _alternatives(leaf, x509.DNSName)),
    )


def leaf_digest(certificate: Path) -> str:
    """SHA-256 of the first certificate of a PEM file, as in PeerIdentity. Raises TlsUnusable."""
    try:
        leaf = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    except (OSError, ValueError) as error:
        raise TlsUnusable(str(certificate), str(error)) from error
    return sha256(leaf.public_bytes(Encoding.DER)).hexdigest()


def _load(files: ListenerFiles) -> tuple[dict[str, ssl.SSLContext], ssl.SSLContext | None]:
    by_name: dict[str, ssl.SSLContext] = {}
    default: ssl.SSLContext | None = None
    for certificate in files.certificates:
        context = _listener(files, certificate)
        by_name.update((name.lower(), context) for name in certificate.server_names)
        if certificate.default or (len(files.certificates) == 1 and not certificate.server_names):
            default = context
    return by_name, default


def _front(files: ListenerFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = files.min_version
    context.set_alpn_protocols(["http/1.1"])
    _ask_clients(context, files)
    context.options |= ssl.OP_NO_RENEGOTIATION
    if files.client_cert_mode != "none":
        # A resumed session is not verified again, and would outlive a change of the CA.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def _listener(files: ListenerFiles, certificate: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = files.min_version
    context.set_alpn_protocols(["http/1.1"])
    _show(context, certificate.certificate, certificate.key)
    _ask_clients(context, files)
    return context


def _ask_clients(context: ssl.SSLContext, files: ListenerFiles) -> None:
    if files.client_cert_mode == "none":
        return
    if files.client_ca is None:
        raise TlsUnusable("client_ca", f"is needed for client_cert_mode {files.client_cert_mode}")
    _trust(context, files.client_ca)
    context.verify_mode = _VERIFY[files.client_cert_mode]


def _upstream(files: UpstreamFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    if not files.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif files.ca is not None:
        _trust(context, files.ca)
    else:
        context.load_default_certs()
    if files.certificate is not None and files.key is not None:
        _show(context, files.certificate, files.key)
    elif files.certificate is not None or files.key is not None:
        raise TlsUnusable(str(files.certificate or files.key), "a client certificate needs both files")
    return context


def _trust(context: ssl.SSLContext, ca: Path) -> None:
    try:
        context.load_verify_locations(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise TlsUnusable(str(ca), _reason(error)) from error


def _show(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        try:
            path.read_bytes()
        except OSError as error:
            raise TlsUnusable(str(path), _reason(error)) from error
    try:
        # The password is for keys that want one: without it OpenSSL would ask on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ssl.SSLError, ValueError) as error:
        raise TlsUnusable(f"{certificate} with {key}", _reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not usable key material").replace("_", " ").lower()
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _alternatives(
    leaf: x509.Certificate, kind: type[x509.UniformResourceIdentifier | x509.DNSName]
) -> list[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(kind)
