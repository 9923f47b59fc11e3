"""The simulator's sockets: the API's listener, which the `down` fault takes away, and the fault switches."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from dataclasses import dataclass, field

from aiohttp import web

from edge.simulator.server import Simulator
from edge.simulator.switches import Switches
from grid.telemetry import admin
from grid.telemetry.admin import AdminServer

log = logging.getLogger("edge.simulator")

_BACKLOG = 1024
_DRAIN_S = 2.0


@dataclass(slots=True)
class Process:
    """A running simulator. port: of the API, kept over a `down`."""

    simulator: Simulator
    port: int = 0
    _runner: web.AppRunner | None = None
    _listener: asyncio.Server | None = None
    _admin: AdminServer | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def admin_port(self) -> int:
        return self._admin.port if self._admin else 0

    async def run(self, stop: asyncio.Event, ready: asyncio.Event | None = None) -> None:
        """Serves until *stop* is set. Raises OSError when an address cannot be bound."""
        settings = self.simulator.settings
        self._runner = web.AppRunner(
            self.simulator.app(), access_log=None, handler_cancellation=True, shutdown_timeout=_DRAIN_S
        )
        await self._runner.setup()
        try:
            await self._listen(settings.port)
            pages = Switches(self.simulator, self._on_change).pages()
            self._admin = await admin.serve(pages, settings.admin_host, settings.admin_port)
            log.info("listening", extra={"address": settings.host, "port": self.port})
            if ready is not None:
                ready.set()
            async with asyncio.TaskGroup() as group:
                follower = group.create_task(self._follow_faults())
                await stop.wait()
                follower.cancel()
        finally:
            self._close_listener()
            if self._admin is not None:
                await self._admin.close()
            await self._runner.cleanup()

    async def _follow_faults(self) -> None:
        """Comes back from `down` when it is switched off or its time is over."""
        while True:
            end = self.simulator.faults.next_end()
            wait = None if end is None else max(0.0, end - self.simulator.now())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            self._changed.clear()
            self.simulator.take_over_faults()
            if self._listener is None and not self._is_down():
                await self._listen(self.port)

    def _on_change(self) -> None:
        if self._is_down():
            self._close_listener()
            self._abort_connections()
        self.simulator.take_over_faults()
        self._changed.set()

    def _is_down(self) -> bool:
        return self.simulator.faults.present("down", self.simulator.now()) is not None

    async def _listen(self, port: int) -> None:
        assert self._runner is not None and self._runner.server is not None  # noqa: S101, PT018  # set by setup()
        loop = asyncio.get_running_loop()
        host = self.simulator.settings.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = await loop.create_server(
            self._runner.server, host, port, family=family, backlog=_BACKLOG, reuse_address=True
        )
        self._listener = listener
        self.port = int(listener.sockets[0].getsockname()[1])

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _abort_connections(self) -> None:
        server = self._runner.server if self._runner else None
        for connection in list(server.connections) if server else []:
            if connection.transport is not None:
                connection.transport.abort()
