"""Says upstream who the client is, believing what is already said only when a trusted proxy said it.

The client's address is the last one in X-Forwarded-For that is not itself a trusted proxy: anything left of
it may have been written by the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Response, Traits
from edge.config.networks import Networks, parse
from edge.filters.options.forwarded_headers import Options
from edge.setup import Setup

_FOR, _PROTO, _HOST, _STANDARD = b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded"
_MAX_CHAIN = 32  # proxies in a row; more is somebody playing


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(writes=frozenset({"client_address"}), security=True)


@dataclass(frozen=True, slots=True)
class ForwardedHeaders(_Kind):
    trusted: Networks
    standard: bool

    @classmethod
    def build(cls, options: Options, _: Setup) -> ForwardedHeaders:
        return cls(Networks(options.trusted_proxies), options.use_standard_header)

    def on_head(self, exchange: Exchange) -> Response | None:
        fields, peer = exchange.request.fields, exchange.peer
        believed = bool(self.trusted) and peer.address in self.trusted
        said = fields.get(_FOR, b"") if believed else b""
        if said:
            exchange.client_address = self._client(said.decode("latin-1"), peer.address)
            fields[_FOR] = said + b", " + peer.address.encode()
        else:
            fields[_FOR] = peer.address.encode()
        if not believed or _PROTO not in fields:
            fields[_PROTO] = b"https" if peer.secure else b"http"
        if not believed or _HOST not in fields:
            fields[_HOST] = exchange.request.host
        if not believed:
            fields.pop(_STANDARD, None)
        if self.standard:
            self._write_standard(fields, peer.address)
        return None

    def _client(self, chain: str, nearest: str) -> str:
        hops = [hop.strip() for hop in chain.split(",")[-_MAX_CHAIN:]]
        client = nearest
        for hop in reversed(hops):
            if parse(hop) is None:
                break
            client = hop
            if hop not in self.trusted:
                break
        return client

    def _write_standard(self, fields: dict[bytes, bytes], address: str) -> None:
        node = f'"[{address}]"' if ":" in address else address
        own = b'for=%b;proto=%b;host="%b"' % (node.encode(), fields[_PROTO], fields[_HOST].replace(b'"', b""))
        before = fields.get(_STANDARD)
        fields[_STANDARD] = own if before is None else before + b", " + own
