"""The engine's shell: one loop, one wheel of deadlines, one group of dials for all listeners and clusters.

    async with Engine() as engine:
        listener = await engine.listen(service, "127.0.0.1", 8080)
        ...
        await listener.drain(within_s=30)

Leaving the block ends everything that is still open.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Final, Protocol, Self

from edge.wire.faults import Cause
from edge.wire.heads import date
from edge.wire.limits import Limits
from edge.wire.listener import Listener
from edge.wire.pool import Cluster, Endpoint, UpstreamTls
from edge.wire.ports import Service
from edge.wire.secure import Secure, as_protocol
from edge.wire.upstream import Upstream
from edge.wire.wheel import TICK_S, Wheel

log = logging.getLogger(__name__)

_BACKLOG: Final = 4096


class Dialling(Protocol):
    """Who asked for a connection."""

    def dialled(self, upstream: Upstream) -> None:
        """It is there, TLS included."""

    def not_dialled(self, cause: Cause) -> None:
        """It could not be made; nothing was sent."""

    def crashed(self) -> None:
        """One of the two calls above raised: end the request somehow."""


class Engine:
    """upstreams: every open upstream connection, idle ones included."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.now = self.loop.time
        self.wheel = Wheel(self.now())
        self.upstreams: set[Upstream] = set()
        self._listeners: list[Listener] = []
        self._group = asyncio.TaskGroup()
        self._dials: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.TimerHandle | None = None
        self._date = (0, b"")

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._tick()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The group is told of no error, so that one raised in the block comes out as it is.
        for listener in self._listeners:
            listener.close()
        for upstream in tuple(self.upstreams):
            upstream.close()
        if self._ticking is not None:
            self._ticking.cancel()
        for dial in self._dials:
            dial.cancel()
        await self._group.__aexit__(None, None, None)
        await asyncio.sleep(0)  # aborted transports tell their protocols in the next turn of the loop

    async def listen(
        self,
        service: Service,
        host: str,
        port: int = 0,
        *,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        vets: Callable[[ssl.SSLObject], bool] | None = None,
        max_connections: int | None = None,
    ) -> Listener:
        """A listener that accepts connections now. vets: asked after each handshake; False closes the
        connection. Raises OSError when the address cannot be had."""
        listener = Listener(self, service, limits or Limits(), max_connections, vets)
        accept = partial(listener.accept_secure, tls) if tls else listener.accept
        listener.server = await self.loop.create_server(accept, host, port, backlog=_BACKLOG)
        self._listeners.append(listener)
        return listener

    def dial(self, cluster: Cluster, endpoint: Endpoint, asker: Dialling) -> asyncio.Task[None]:
        """Begin to connect; *asker* is told the outcome, unless the task is cancelled first."""
        task = self._group.create_task(self._dial(cluster, endpoint, asker))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)
        return task

    def date(self) -> bytes:
        """The Date field's value for now, made once a second."""
        wall_s = int(time.time())
        if self._date[0] != wall_s:
            self._date = (wall_s, date(wall_s))
        return self._date[1]

    async def _dial(self, cluster: Cluster, endpoint: Endpoint, asker: Dialling) -> None:
        outcome = await self._outcome(cluster, endpoint)
        try:
            if isinstance(outcome, Upstream):
                asker.dialled(outcome)
            else:
                asker.not_dialled(outcome)
        except Exception:  # a bug in one request's handling must not end the group, and all others with it
            log.exception("a request's handling failed after a dial")
            asker.crashed()

    async def _outcome(self, cluster: Cluster, endpoint: Endpoint) -> Upstream | Cause:
        try:
            return await self._connect(cluster, endpoint)
        except TimeoutError:
            return Cause.CONNECT_TIMEOUT
        except ssl.SSLError:
            return Cause.TLS
        except OSError:
            return Cause.REFUSED

    async def _connect(self, cluster: Cluster, endpoint: Endpoint) -> Upstream:
        tls, upstream = cluster.tls, Upstream(self, cluster, endpoint)
        began_at = time.monotonic()  # the loop's own time stands still while it works
        try:
            async with asyncio.timeout(cluster.timeouts.connect_s):
                if tls is None:
                    await self.loop.create_connection(lambda: upstream, endpoint.host, endpoint.port)
                else:
                    await self._connect_secure(upstream, tls)
        except BaseException:
            upstream.abandon()
            raise
        if cluster.connected is not None:
            cluster.connected(time.monotonic() - began_at)
        return upstream

    async def _connect_secure(self, upstream: Upstream, tls: UpstreamTls) -> None:
        shaken: asyncio.Future[None] = self.loop.create_future()
        secure = Secure(upstream, tls.context(), self.wheel, partial(_settle, shaken), tls.server_name)
        endpoint = upstream.endpoint
        try:
            await self.loop.create_connection(lambda: as_protocol(secure), endpoint.host, endpoint.port)
            await shaken
        except BaseException:
            if shaken.cancel() or shaken.cancelled():  # else it ends by itself, with an alert
                secure.abort()
            raise

    def _tick(self) -> None:
        self.wheel.turn(self.now())
        self._ticking = self.loop.call_later(TICK_S, self._tick)


def _settle(shaken: asyncio.Future[None], _: Secure, error: Exception | None) -> None:
    if shaken.done():
        return
    if error is None:
        shaken.set_result(None)
    else:
        shaken.set_exception(error)
