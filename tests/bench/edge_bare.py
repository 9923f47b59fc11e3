"""A bare proxy of our engine, for `tests.bench.edge`: nothing but a route by the path.

python -P tests/bench/edge_bare.py PORT TLS_PORT BACKEND SSE TLS_BACKEND CERTS

It is run as a file, by an interpreter that may have another build of the project installed: it imports only
what is installed there, nothing beside itself.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

import uvloop

from edge.chain import Chain, Exchange, Request, Response, Step, Traits
from edge.tls import CertificateFiles, ListenerFiles, ListenerTls, UpstreamContext, UpstreamFiles
from edge.wire.engine import Engine
from edge.wire.errors import error_response
from edge.wire.faults import LocalFault
from edge.wire.limits import Limits
from edge.wire.pool import Cluster, Endpoint, UpstreamTls
from edge.wire.ports import Peer


class ByPath:
    """The cluster of the path's first four bytes, or else the plain one."""

    traits = Traits(writes=frozenset({"upstream"}))

    def __init__(self, plain: Cluster, streams: Cluster, secure: Cluster) -> None:
        self._plain = plain
        self._others = {b"/sse": streams, b"/tls": secure}

    def on_body(self, exchange: Exchange) -> Response | None:
        exchange.upstream = self._others.get(exchange.request.target[:4], self._plain)
        return None


class Bare:
    """Nothing but the route."""

    def __init__(self, engine: Engine, chain: Chain) -> None:
        self._clock, self._chain = engine.now, chain

    def open(self, request: Request, peer: Peer) -> Exchange:
        return Exchange(self._chain, request, peer, self._clock)

    def refuse(self, fault: LocalFault, peer: Peer) -> Response:
        return error_response(fault.status, fault.code, fault.why)


async def proxy(port: int, tls_port: int, backends: tuple[int, int, int], certs: Path) -> None:
    """Serves until it is ended."""
    plain, sse, secure = backends
    ca = certs / "test-ca.crt"
    client = UpstreamContext(UpstreamFiles(ca, certs / "client.crt", certs / "client.key"))
    server = ListenerTls(ListenerFiles((CertificateFiles(certs / "localhost.crt", certs / "localhost.key"),)))
    async with Engine() as engine:
        clusters = [
            Cluster("plain", [Endpoint("127.0.0.1", plain)]),
            Cluster("streams", [Endpoint("127.0.0.1", sse)]),
            Cluster("secure", [Endpoint("127.0.0.1", secure)], tls=UpstreamTls(client, "localhost")),
        ]
        service = Bare(engine, Chain([Step("by_path", ByPath(*clusters))]))
        limits = Limits(requests=1_000_000_000)
        await engine.listen(service, "127.0.0.1", port, limits=limits)
        await engine.listen(service, "127.0.0.1", tls_port, limits=limits, tls=server.context)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        await asyncio.Event().wait()


def main(argv: list[str]) -> None:
    if len(argv) != 6:
        raise SystemExit(__doc__)
    port, tls_port, plain, sse, secure = map(int, argv[:5])
    uvloop.run(proxy(port, tls_port, (plain, sse, secure), Path(argv[5])))


if __name__ == "__main__":
    main(sys.argv[1:])
