"""What this site says of itself: its place from its own GridSite, its gateway's address, its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509

from grid.crd.site import GridSite
from grid.mesh.lanes import SiteSaid
from grid.seal.trust import Refusal, leaf_of


def said_of(site: GridSite | None, server_name: str) -> SiteSaid:
    """server_name: what our certificate says, where our resource says nothing."""
    if site is None:
        return SiteSaid(server_name=server_name)
    spec, tls = site.spec, site.endpoint.tls if site.endpoint else None
    named = (tls.server_name if tls else None) or server_name
    return SiteSaid(spec.role, spec.region or "", spec.zone or "", spec.sovereignty_zone or "", named)


def address_of(service: dict[str, Any], port: int) -> str:
    """Where a Service of type LoadBalancer is reached from other clusters; empty while it has no address."""
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    first = ingress[0] if ingress else {}
    host = str(first.get("ip") or first.get("hostname") or "")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}" if host else ""


@dataclass(slots=True)
class Certificate:
    """`tls.crt` in *folder*, read again when it changes. server_name: what it is asked for by, once read."""

    folder: Path
    server_name: str = ""
    _seen: tuple[int, int] = (0, 0)
    _pem: bytes = b""

    def pem(self) -> bytes:
        """As other sites may have it; empty where it is no certificate, or could be a key."""
        file = self.folder / "tls.crt"
        try:
            stat = file.stat()
            if (stat.st_mtime_ns, stat.st_ino) != self._seen:
                text = file.read_bytes()
                self._seen = stat.st_mtime_ns, stat.st_ino
                self._pem = b"" if isinstance(leaf_of(text), Refusal) else text
                self.server_name = _dns_name(self._pem)
        except OSError:
            self._pem, self.server_name = b"", ""
        return self._pem


def _dns_name(pem: bytes) -> str:
    """The first name of a certificate that a TLS client can ask for."""
    if not pem:
        return ""
    try:
        extensions = x509.load_pem_x509_certificates(pem)[0].extensions
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ""
    return next((str(name) for name in names.get_values_for_type(x509.DNSName) if "." in str(name)), "")
