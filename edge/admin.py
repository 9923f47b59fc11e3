"""The gateway's admin pages, and where they are served.

`/livez /readyz /metrics /status /details /config`, `POST /drain` withdraws readiness and `DELETE /drain`
gives it back: a traffic manager then moves clients away while requests are still served. `/readyz` and
`/status` may each have an address of their own: the one for a traffic manager, the other, over TLS with the
site's leaf, for the grid's operator.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Protocol

from edge.built import Built
from edge.config.model import split_address
from edge.config.redact import redact
from edge.metrics import EdgeMetrics
from edge.readiness import Readiness
from edge.status import status
from grid.contract.status import write_status
from grid.telemetry import admin
from grid.telemetry.admin import Answer, Page


class Serving(Protocol):
    """What is shown of the server."""

    draining: bool
    built: Built | None

    def connections(self) -> Mapping[str, int]:
        """listener name -> open connections."""

    @property
    def closed_by(self) -> str | None:
        """Why new requests are refused, if they are."""


class Reloading(Protocol):
    """What is shown of the reloads."""

    loaded_at: float
    rejections: int
    last_rejection: str | None


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the pages are; 0 where there is no such address."""

    admin: int = 0
    readiness: int = 0
    status: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """All that the pages show."""

    server: Serving
    reloader: Reloading
    readiness: Readiness
    metrics: EdgeMetrics

    def pages(self) -> Iterator[Page]:
        yield admin.livez()
        yield self.readyz()
        yield admin.scrape(self.metrics.metrics)
        yield self.status()
        yield Page("/details", lambda _: admin.as_json(details(self.server, self.reloader)))
        yield Page("/config", lambda _: admin.as_json(shown(self.server)))
        yield Page("/drain", lambda _: self.drain(wanted=True), "POST")
        yield Page("/drain", lambda _: self.drain(wanted=False), "DELETE")

    def readyz(self) -> Page:
        return admin.readyz(lambda: map(str, self.readiness.reasons()))

    def status(self) -> Page:
        def answer(_: bytes) -> Answer:
            return Answer(200, write_status(status(self.readiness)) + b"\n", "application/json")

        return Page("/status", answer)

    def drain(self, *, wanted: bool) -> Answer:
        self.server.draining = wanted
        self.readiness.say()
        return admin.text("draining" if wanted else "serving", 202)


def details(server: Serving, reloader: Reloading) -> dict[str, object]:
    """The process beside its routing. Endpoints are counted, and named only where `admin.verbose` says so."""
    built = server.built
    gateway = built.loaded.gateway if built else None
    verbose = gateway is not None and gateway.admin is not None and gateway.admin.verbose
    connections = server.connections()
    clusters: dict[str, object] = {}
    for name, live in (built.clusters if built else {}).items():
        endpoints = live.cluster.endpoints
        clusters[name] = {"endpoints": len(endpoints), "healthy": sum(e.healthy for e in endpoints)}
        if verbose:
            clusters[name] = {str(e): {"healthy": e.healthy, "in_flight": e.in_flight} for e in endpoints}
    return {
        "overload": server.closed_by,
        "config": {
            "digest": built.digest if built else None,
            "loaded_at": reloader.loaded_at,
            "rejections": reloader.rejections,
            "last_rejection": reloader.last_rejection,
        },
        "listeners": {
            listener.name: {"address": listener.address, "connections": connections.get(listener.name, 0)}
            for listener in (gateway.listeners if gateway else [])
        },
        "clusters": clusters,
    }


def shown(server: Serving) -> object:
    """The configuration that serves, defaults filled in, secrets covered."""
    return redact(server.built.loaded.gateway.model_dump(mode="json")) if server.built else {}


async def serve(stack: AsyncExitStack, built: Built, what: Shown) -> Ports:
    """Serves what *built* asks for until *stack* is closed. Raises OSError."""
    model = built.loaded.gateway.admin
    if model is None:
        return Ports()
    own = await _serve(stack, model.address, tuple(what.pages()))
    readiness = status_port = 0
    if model.readiness_address is not None:
        readiness = await _serve(stack, model.readiness_address, (admin.livez(), what.readyz()))
    if model.status is not None and built.status_tls is not None:
        pages, tls = (what.status(),), built.status_tls.context
        status_port = await _serve(stack, model.status.address, pages, tls)
    return Ports(own, readiness, status_port)


async def _serve(
    stack: AsyncExitStack, address: str, pages: tuple[Page, ...], tls: ssl.SSLContext | None = None
) -> int:
    """The port."""
    opened = await admin.serve(pages, *split_address(address), tls)
    stack.push_async_callback(opened.close)
    return opened.port
