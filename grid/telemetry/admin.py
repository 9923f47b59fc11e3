"""The admin pages of a process: `/livez /readyz /metrics /status` and its own, as plain functions behind one
server.

A Page answers from memory, synchronously; this file only carries it over HTTP. Where the pages may be bound
is `may_bind`: loopback or a private address by name, never a wildcard, since `/drain` and `/config` are
behind it.
"""

from __future__ import annotations

import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from aiohttp import web

from grid.telemetry.metrics import CONTENT_TYPE, Metrics

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_CLOSE_S = 2.0  # a scraper that holds its connection does not hold up a shutdown


@dataclass(frozen=True, slots=True)
class Answer:
    """status, body and its type; sent with `Cache-Control: no-store`."""

    status: int = 200
    body: bytes = b""
    content_type: str = _TEXT


@dataclass(frozen=True, slots=True)
class Page:
    """path -> answer(body). *answer* is given the request's body, empty on GET; it does no I/O."""

    path: str
    answer: Callable[[bytes], Answer]
    method: str = "GET"


def text(body: str, status: int = 200) -> Answer:
    return Answer(status, f"{body}\n".encode())


def as_json(value: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value, separators=(",", ":"), default=str).encode() + b"\n", _JSON)


def livez() -> Page:
    """200 while the event loop answers at all."""
    return Page("/livez", lambda _: text("ok"))


def readyz(reasons: Callable[[], Iterable[str]]) -> Page:
    """200, or 503 with the reasons the process is not ready, one a line."""

    def answer(_: bytes) -> Answer:
        against = tuple(reasons())
        return text("\n".join(against), 503) if against else text("ready")

    return Page("/readyz", answer)


def scrape(metrics: Metrics) -> Page:
    return Page("/metrics", lambda _: Answer(200, metrics.scrape(), CONTENT_TYPE))


def status(read: Callable[[], object]) -> Page:
    return Page("/status", lambda _: as_json(read()))


def may_bind(host: str) -> bool:
    """Whether admin pages may listen on *host*: a loopback or private address, literally written.

    Pods of some clusters have shared addresses (RFC 6598), which are neither private nor anybody's out there.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return not (address.is_global or address.is_unspecified or address.is_multicast)


@dataclass(slots=True)
class AdminServer:
    """A running server. port: the one bound, also where 0 was asked for."""

    port: int
    _runner: web.AppRunner = field(repr=False)

    async def close(self) -> None:
        await self._runner.cleanup()


async def serve(
    pages: Iterable[Page], host: str, port: int, tls: ssl.SSLContext | None = None
) -> AdminServer:
    """Starts serving *pages* on host:port; 404 for other paths, 405 for other methods, 421 for a foreign
    name.

    Raises OSError when the address cannot be bound; whether it should be is for the caller (`may_bind`).
    """
    app = web.Application(client_max_size=64 * 1024, middlewares=[_guard])
    for page in pages:
        app.router.add_route(page.method, page.path, _handler(page))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSE_S)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=tls)
    try:
        await site.start()
    except OSError:
        await runner.cleanup()
        raise
    return AdminServer(int(runner.addresses[0][1]), runner)


def _handler(page: Page) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read() if request.can_read_body else b""
        made = page.answer(body)
        headers = {"Content-Type": made.content_type, "Cache-Control": "no-store"}
        return web.Response(status=made.status, body=made.body, headers=headers)

    return handle


@web.middleware
async def _guard(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """A browser page elsewhere cannot act here: changes need a literal address as Host and no Origin."""
    changes = request.method not in {"GET", "HEAD"}
    if changes and ("Origin" in request.headers or not _is_literal(request.host)):
        return web.Response(status=421, text="misdirected request\n")
    return await handler(request)


def _is_literal(authority: str) -> bool:
    """Whether a Host field names this machine by address (or as localhost), its port left aside."""
    host = authority.partition("]")[0][1:] if authority.startswith("[") else authority.partition(":")[0]
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
