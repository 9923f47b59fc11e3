"""A whole gateway in a test: an engine, a listener on port 0, one chain in front of one or more clusters."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from edge.chain import Chain, Exchange, Request, Response, Step, Traits
from edge.wire.engine import Engine
from edge.wire.errors import error_response
from edge.wire.faults import LocalFault
from edge.wire.limits import Limits
from edge.wire.listener import Listener
from edge.wire.pool import Caps, Cluster, Endpoint, Timeouts, UpstreamTls
from edge.wire.ports import Peer


@dataclass
class SendTo:
    """The plainest route: every request goes to the first cluster, the others are for failing over."""

    clusters: Sequence[Cluster]
    traits: Traits = field(default_factory=lambda: Traits(writes=frozenset({"upstream"})))

    def on_body(self, exchange: Exchange) -> Response | None:
        others = iter(self.clusters[1:])
        exchange.upstream = self.clusters[0]
        exchange.next_upstream = lambda _: next(others, None)
        return None


class ChainService:
    """Opens an Exchange per request and remembers it. chain: may be swapped."""

    def __init__(self, engine: Engine, chain: Chain) -> None:
        self._clock = engine.now
        self.chain = chain
        self.exchanges: list[Exchange] = []
        self.refused: list[LocalFault] = []

    def open(self, request: Request, peer: Peer) -> Exchange:
        exchange = Exchange(self.chain, request, peer, self._clock)
        self.exchanges.append(exchange)
        return exchange

    def refuse(self, fault: LocalFault, peer: Peer) -> Response:
        self.refused.append(fault)
        return error_response(fault.status, fault.code, fault.why, retry_after_s=fault.retry_after_s)


@dataclass
class Gateway:
    """port: where it listens. service.exchanges: what it has seen."""

    engine: Engine
    listener: Listener
    service: ChainService
    clusters: tuple[Cluster, ...]

    @property
    def port(self) -> int:
        return self.listener.port


def cluster(
    *ports: int,
    name: str = "backend",
    timeouts: Timeouts | None = None,
    caps: Caps | None = None,
    tls: UpstreamTls | None = None,
) -> Cluster:
    """Endpoints on loopback."""
    endpoints = [Endpoint("127.0.0.1", port) for port in ports]
    return Cluster(name, endpoints, timeouts=timeouts or Timeouts(), caps=caps or Caps(), tls=tls)


@asynccontextmanager
async def gateway(
    *clusters: Cluster,
    steps: Sequence[Step] = (),
    limits: Limits | None = None,
    tls: ssl.SSLContext | None = None,
    max_connections: int | None = None,
) -> AsyncIterator[Gateway]:
    """Runs while the block does; *steps* stand before the route."""
    async with Engine() as engine:
        service = ChainService(engine, Chain([*steps, Step("send_to", SendTo(clusters))]))
        listener = await engine.listen(
            service, "127.0.0.1", limits=limits, tls=tls, max_connections=max_connections
        )
        yield Gateway(engine, listener, service, clusters)
