"""Lets in the gateways it knows by their verified client certificate; everybody else gets 403.

Within a peer all given fields must agree, and one peer must agree. The chain to the CA was checked by TLS:
this is the second question, *which* of the certificates that CA made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.peer_identity_trust import Options, Peer
from edge.setup import Setup
from edge.tls import PeerIdentity, peer_identity

_REMEMBERED = 1024  # certificates; a grid has a few dozen gateways, each renewed now and then


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(
        writes=frozenset({"identity"}), security=True, first=True, needs_client_certificate=True
    )


@dataclass(frozen=True, slots=True)
class PeerIdentityTrust(_Kind):
    peers: tuple[Peer, ...]
    known: dict[bytes, str | None] = field(default_factory=dict)

    @classmethod
    def build(cls, options: Options, _: Setup) -> PeerIdentityTrust:
        return cls(tuple(options.trusted_peers))

    def on_head(self, exchange: Exchange) -> Response | None:
        certificate = exchange.peer.certificate
        identity = None if certificate is None else self._identity(certificate)
        if identity is None:
            return refuse(exchange, 403, "peer_not_trusted")
        exchange.identity = identity
        return None

    def _identity(self, certificate: bytes) -> str | None:
        """The peer's name; None when no peer agrees. Remembered: parsing one takes 0.1 ms, connections are
        many."""
        if certificate not in self.known:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            self.known[certificate] = self._look(certificate)
        return self.known[certificate]

    def _look(self, certificate: bytes) -> str | None:
        try:
            leaf = peer_identity(certificate)
        except ValueError:
            return None
        for index, peer in enumerate(self.peers):
            if agrees(peer, leaf):
                return peer.name or f"peer-{index}"
        return None


def agrees(peer: Peer, leaf: PeerIdentity) -> bool:
    """Whether all that *peer* asks for is so."""
    return (
        (peer.cert_digest is None or peer.cert_digest == leaf.digest)
        and (peer.spiffe_id is None or peer.spiffe_id == leaf.spiffe)
        and (peer.dns_name is None or peer.dns_name in leaf.names)
        and (peer.organization is None or peer.organization == leaf.organization)
        and (peer.serial_number is None or int(peer.serial_number, 0) == int(leaf.serial, 16))
    )
