"""How long the certificates in use are valid: read once, when a configuration is taken into use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from edge.built import Built


@dataclass(frozen=True, slots=True)
class Material:
    """ends: for each thing that needs a certificate (a listener, the way to providers), the ends of those it
    has, Unix seconds; one that is valid is enough."""

    ends: tuple[tuple[float, ...], ...] = ()

    def is_valid(self, now: float) -> bool:
        """Whether nothing is without a valid certificate."""
        return all(any(now < end for end in each) for each in self.ends)


def material(built: Built) -> Material:
    """Reads certificates; blocks. What cannot be read now was sound when it was loaded, and counts as
    such."""
    return Material(tuple(tuple(map(_end, paths)) for paths in _certificates(built) if paths))


def _certificates(built: Built) -> Iterator[tuple[Path, ...]]:
    gateway = built.loaded.gateway
    for listener in gateway.listeners:
        if listener.tls is not None:
            yield _paths(certificate.cert_path for certificate in listener.tls.certificates)
    shown = (live.model.tls.client_cert for live in built.clusters.values() if live.model.tls)
    yield _paths(client.cert_path for client in shown if client is not None)


def _paths(texts: Iterable[str]) -> tuple[Path, ...]:
    return tuple(map(Path, dict.fromkeys(texts)))


def _end(path: Path) -> float:
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())[0].not_valid_after_utc.timestamp()
    except (OSError, ValueError):
        return math.inf
