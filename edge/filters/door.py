"""Takes off at the door what only the grid itself may say, in both directions; put before every chain.

A client's claims about where it is, who it is or which candidate was chosen are worth nothing. On a listener
for peers, whose chain begins with `peer_identity_trust`, the routing fields are the previous gateway's and
stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits
from edge.wire.messages import Beginning

_CLAIMS = frozenset((b"x-region", b"x-country", b"x-tenant-id"))
_GRID = (b"x-ai-", b"x-grid-", b"x-sim-", b"x-praxis-", b"x-model")
_SESSION = b"x-praxis-session-id"
_REMEMBERED = 1024
_MAX_NAME = 64  # bytes


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    traits: ClassVar[Traits] = Traits()


@dataclass(frozen=True, slots=True)
class Door(_Kind):
    """for_peers: the other side is a gateway we know. session: a header of the grid's that clients do send.
    harmless: request names looked at before. claims: of upstreams."""

    for_peers: bool
    session: bytes = _SESSION
    harmless: set[bytes] = field(default_factory=set, repr=False)
    claims: Beginning = field(default_factory=lambda: Beginning(b"x-ai-", b"x-sim-"), repr=False)

    def on_head(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        if not self.harmless.issuperset(fields):
            for name in tuple(fields):
                if self._is_claim(name):
                    del fields[name]
                elif len(self.harmless) < _REMEMBERED and len(name) <= _MAX_NAME:
                    self.harmless.add(name)
        return None

    def on_reply(self, _: Exchange, reply: Reply) -> None:
        claims = self.claims[reply.received]
        if claims and not self.for_peers:
            reply.fields = [pair for pair in reply.fields if pair[0] not in claims]

    def _is_claim(self, name: bytes) -> bool:
        prefixes = (b"x-sim-", b"x-model") if self.for_peers else _GRID
        return name in _CLAIMS or (name.startswith(prefixes) and name != self.session)
