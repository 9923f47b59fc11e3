"""A listening address: who is connected, how many may be, and how it comes to rest."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from edge.wire.downstream import Downstream
from edge.wire.limits import Limits
from edge.wire.ports import Service
from edge.wire.secure import Secure, as_protocol

if TYPE_CHECKING:
    from edge.wire.engine import Engine

_HARD_OVER: Final = 64
"""Connections past max_connections that are still answered with a 503; those after them are simply closed,
since even telling them costs memory."""


class Listener:
    """service: opens the handlers; assign another one to swap it, requests in flight keep theirs.
    connections: open ones. draining: no request is begun any more on a connection that has just answered."""

    def __init__(
        self,
        engine: Engine,
        service: Service,
        limits: Limits,
        max_connections: int | None = None,
        vets: Callable[[ssl.SSLObject], bool] | None = None,
    ) -> None:
        self.engine = engine
        self.service = service
        self.limits = limits
        self.max_connections = max_connections
        self._vets = vets
        self.server: asyncio.Server | None = None
        self.connections: set[Downstream] = set()
        self.draining = False
        self._shaking: set[Secure] = set()
        self._at_rest: asyncio.Event = asyncio.Event()

    @property
    def port(self) -> int:
        """The port it listens on; 0 when it does not."""
        server: Any = self.server  # loops differ in what `sockets` is, a list or a tuple
        sockets = server.sockets if server else ()
        return int(sockets[0].getsockname()[1]) if sockets else 0

    def accept(self) -> Downstream:
        """A protocol for a connection that was just accepted."""
        return Downstream(self)

    def accept_secure(self, tls: ssl.SSLContext) -> asyncio.BaseProtocol:
        """The same behind TLS. It is a connection once the handshake is over."""
        secure = Secure(Downstream(self), tls, self.engine.wheel, self._shaken)
        self._shaking.add(secure)
        return as_protocol(secure)

    def _shaken(self, secure: Secure, _: Exception | None) -> None:
        self._shaking.discard(secure)

    def joined(self, connection: Downstream, tls: ssl.SSLObject | None) -> bool:
        """Count it in. False when it must not stay: one too many even to be told so, or not vetted."""
        self.connections.add(connection)
        if tls is not None and self._vets is not None and not self._vets(tls):
            return False
        over = len(self.connections) - (self.max_connections or len(self.connections))
        connection.is_one_too_many = over > 0
        return over <= _HARD_OVER

    def left(self, connection: Downstream) -> None:
        """Count it out."""
        self.connections.discard(connection)
        if not self.connections:
            self._at_rest.set()

    async def drain(self, within_s: float) -> int:
        """Accept nobody, close idle connections, let answers in progress end; after *within_s* cut what is
        left.

        How many were cut.
        """
        self.draining = True
        if self.server is not None:
            self.server.close()
        for connection in tuple(self.connections):
            connection.drain()
        self._at_rest.clear()
        if self.connections:
            try:
                async with asyncio.timeout(within_s):
                    await self._at_rest.wait()
            except TimeoutError:
                pass
        cut = len(self.connections)
        self.close()
        return cut

    def close(self) -> None:
        """Accept nobody and cut every connection, at once."""
        self.draining = True
        if self.server is not None:
            self.server.close()
        for secure in tuple(self._shaking):
            secure.abort()
        for connection in tuple(self.connections):
            connection.cut()
