"""A cluster at run time: its endpoints, their idle connections, and the one decision what to use next.

`Cluster.take` is synchronous and does no I/O: it returns a connection to reuse, an endpoint to dial or a
Cause, and has already counted what it gave out. The relay acts on it and reports back by `give_back`, `drop`
or `gone`; each connection is in exactly one of three places: idle in an endpoint's stack, in flight, or
forgotten.

Idle connections are reused last in, first out: the newest is the one least likely to have been closed by the
other side, and the oldest ones age out (by their own timer, `caps.idle_s`).
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from edge.wire.balance import KeyFrom, RoundRobin, Strategy, panics
from edge.wire.faults import Cause
from edge.wire.heads import host_line
from edge.wire.replies import Memory


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, each on its own. connect: name look-up, TCP and TLS together. first_byte: from the request
    written to the reply's head. idle: between two pieces of a reply while the client keeps up. total: from
    the first attempt to the reply's end; None means unbounded, since a completion may stream for hours.
    attempts_s: no new attempt is begun after this long, whatever `attempts` would allow."""

    connect_s: float = 5.0
    first_byte_s: float = 300.0
    idle_s: float = 120.0
    total_s: float | None = None
    attempts_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Caps:
    """connections: open to the whole cluster, None is unbounded; past it requests get 503. idle: kept per
    endpoint. idle_s: kept at most so long; below the 5 s after which common model servers close, so that they
    seldom close under us. attempts: endpoints tried for one request, the first included."""

    connections: int | None = None
    idle: int = 64
    idle_s: float = 4.0
    attempts: int = 3


@dataclass(frozen=True, slots=True)
class Balancing:
    """strategy: of one cluster, since it remembers its turns. key_from: what it needs a key for; None when it
    looks at none. panic_percent: with fewer healthy endpoints than so many in a hundred, the unhealthy ones
    are asked too; 0 never."""

    strategy: Strategy[Endpoint] = field(default_factory=RoundRobin)
    key_from: KeyFrom | None = None
    panic_percent: int = 0


@dataclass(frozen=True, slots=True)
class UpstreamTls:
    """context: called per dial, so that reloaded material is used by the next connection. server_name: SNI,
    and the name the certificate is checked against."""

    context: Callable[[], ssl.SSLContext]
    server_name: str


class Connection(Protocol):
    """What the pool knows of an upstream connection. endpoint: where it leads."""

    @property
    def endpoint(self) -> Endpoint: ...

    def is_usable(self, now: float) -> bool:
        """Whether it is still open as far as this side can tell without writing."""

    def close(self) -> None:
        """End it. The pool has already forgotten it."""


@dataclass(slots=True, eq=False)
class Endpoint:
    """host, port: where. healthy: set by health checks; new endpoints are healthy. idle: newest last.
    in_flight: requests given out and not ended. open: connections, idle ones included. memory: of its
    replies' heads. weight: its share of new requests beside the others', from 1."""

    host: str
    port: int
    healthy: bool = True
    in_flight: int = 0
    open: int = 0
    idle: list[Connection] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory, repr=False)
    weight: int = 1

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Cluster:
    """name: as configured. authority: the Host field upstreams see. watchers: told (endpoint, ok) when a
    request has ended; ok means that an answer below 500 came back whole. Requests whose client left tell
    nothing. connected: told how many seconds each connection took to be made."""

    def __init__(
        self,
        name: str,
        endpoints: Iterable[Endpoint],
        *,
        authority: str | None = None,
        timeouts: Timeouts = Timeouts(),
        caps: Caps = Caps(),
        balancing: Balancing | None = None,
        tls: UpstreamTls | None = None,
    ) -> None:
        self.name = name
        self.endpoints = tuple(endpoints)
        self.timeouts = timeouts
        self.caps = caps
        self.tls = tls
        self.watchers: list[Callable[[Endpoint, bool], None]] = []
        self.connected: Callable[[float], None] | None = None
        self.host_line = host_line(authority or (tls.server_name if tls else str(self.endpoints[0])))
        balancing = balancing or Balancing()
        self.key_from = balancing.key_from
        self.panic_percent = balancing.panic_percent
        self._strategy = balancing.strategy
        self._closed = False

    def __copy__(self) -> Cluster:
        """The same endpoints, connections, watchers and turns; what is assigned to one is not the other's."""
        made = Cluster(self.name, self.endpoints, timeouts=self.timeouts, caps=self.caps, tls=self.tls)
        made.watchers, made.connected, made.host_line = self.watchers, self.connected, self.host_line
        made.key_from, made.panic_percent = self.key_from, self.panic_percent
        made._strategy, made._closed = self._strategy, self._closed
        return made

    @property
    def open(self) -> int:
        """Connections open to all endpoints."""
        return sum(endpoint.open for endpoint in self.endpoints)

    @property
    def panicking(self) -> bool:
        """Whether endpoints are asked that are not healthy, because too few are."""
        healthy = sum(endpoint.healthy for endpoint in self.endpoints)
        return panics(healthy, len(self.endpoints), self.panic_percent)

    def take(
        self, now: float, tried: Collection[Endpoint] = (), key: bytes = b""
    ) -> Connection | Endpoint | Cause:
        """What to use for one request: a connection to write on, or an endpoint to dial; never one of
        *tried*. It counts as in flight from here on. key: the request's, where there is `key_from`.

        A Cause (NO_ENDPOINT, FULL) means that nothing can be used, and nothing was counted.
        """
        endpoints = self.endpoints
        if len(endpoints) > 1 or tried or not endpoints[0].healthy:
            candidates: Sequence[Endpoint] = [e for e in endpoints if e.healthy]
            percent = self.panic_percent
            if percent and panics(len(candidates), len(endpoints), percent):
                candidates = endpoints
            if tried:
                candidates = [e for e in candidates if e not in tried]
            if not candidates:
                return Cause.NO_ENDPOINT
            endpoint = self._strategy(candidates, key)
        else:
            endpoint = endpoints[0]
        while endpoint.idle:
            connection = endpoint.idle.pop()
            if connection.is_usable(now):
                endpoint.in_flight += 1
                return connection
            endpoint.open -= 1
            connection.close()
        if self.caps.connections is not None and self.open >= self.caps.connections and not self._make_room():
            return Cause.FULL
        endpoint.in_flight += 1
        endpoint.open += 1
        return endpoint

    def give_back(self, endpoint: Endpoint, connection: Connection) -> bool:
        """The request ended and the connection can carry another one: keep it, or close it if there are
        enough."""
        endpoint.in_flight -= 1
        if self._closed or len(endpoint.idle) >= self.caps.idle:
            endpoint.open -= 1
            connection.close()
            return False
        endpoint.idle.append(connection)
        return True

    def drop(self, endpoint: Endpoint) -> None:
        """The request ended and its connection (or the attempt to dial one) is not to be used again."""
        endpoint.in_flight -= 1
        endpoint.open -= 1

    def tell(self, endpoint: Endpoint, *, ok: bool) -> None:
        """Let the watchers know how a request ended."""
        for watcher in self.watchers:
            watcher(endpoint, ok)

    def gone(self, endpoint: Endpoint, connection: Connection) -> None:
        """An idle connection was closed, or has been idle for long enough. Unknown ones are ignored."""
        if connection in endpoint.idle:
            endpoint.idle.remove(connection)
            endpoint.open -= 1

    def purge(self, endpoint: Endpoint) -> None:
        """Close what lies idle at *endpoint*: one connection was found stale, so the others are too."""
        while endpoint.idle:
            endpoint.open -= 1
            endpoint.idle.pop().close()

    def close(self) -> None:
        """Close idle connections now and the others when they are given back; for a cluster replaced by a
        reload."""
        self._closed = True
        for endpoint in self.endpoints:
            self.purge(endpoint)

    def _make_room(self) -> bool:
        """Close one idle connection of another endpoint; an idle connection must not refuse a request."""
        for endpoint in self.endpoints:
            if endpoint.idle:
                endpoint.open -= 1
                endpoint.idle.pop(0).close()
                return True
        return False
