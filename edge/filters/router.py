"""Chooses a cluster by path, host, method and headers: the most specific route that matches, else 404.

An exact path is before a prefix, a longer prefix before a shorter one, more constraints before fewer. Paths
are compared in their normalised form; prefixes end at a segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Request, Response, Traits, refuse
from edge.config.conditions import under
from edge.config.paths import normalise
from edge.filters.options.router import Options, RouteOptions
from edge.setup import Setup

_QUERY = ord("?")
_REMEMBERED = 1024
_MAX_TARGET = 256  # bytes


@dataclass(frozen=True, slots=True)
class Route:
    """path: exact when *exact*, else a prefix. host: lower case; a leading `.` stands for one label before
    it."""

    exact: bool
    path: bytes
    host: bytes
    methods: frozenset[bytes]
    headers: tuple[tuple[bytes, bytes], ...]
    cluster: str

    def matches(self, exchange: Exchange, path: bytes) -> bool:
        if (path != self.path) if self.exact else not under(path, self.path):
            return False
        request = exchange.request
        if self.methods and request.method not in self.methods:
            return False
        if self.host and not _host_matches(request.host, self.host):
            return False
        fields: Mapping[bytes, bytes] = request.fields
        return all(fields.get(name) == value for name, value in self.headers)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Larger is more specific."""
        return self.exact, len(self.path), len(self.headers) + bool(self.host) + bool(self.methods)


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(writes=frozenset({"cluster"}))


@dataclass(frozen=True, slots=True)
class Router(_Kind):
    """routes: the most specific first; among equals the order of the file. chosen: (method, target, host) ->
    cluster, of requests routed before; unused when a route looks at other fields, which filters may write."""

    routes: tuple[Route, ...]
    chosen: dict[tuple[bytes, bytes, bytes], str] = field(default_factory=dict, repr=False)

    @classmethod
    def build(cls, options: Options, _: Setup) -> Router:
        return cls(tuple(sorted(map(_route, options.routes), key=lambda route: route.rank, reverse=True)))

    @property
    def clusters(self) -> tuple[str, ...]:
        """Where requests may be sent; the catalog checks that they exist."""
        return tuple(route.cluster for route in self.routes)

    def on_body(self, exchange: Exchange) -> Response | None:
        request = exchange.request
        key = (request.method, request.target, request.host)
        cluster = self.chosen.get(key) or self._choose(exchange)
        if cluster is None:
            return refuse(exchange, 404, "no_route")
        exchange.cluster = cluster
        return None

    def _choose(self, exchange: Exchange) -> str | None:
        request = exchange.request
        path = normalise(request.path)
        for route in self.routes:
            if route.matches(exchange, path):
                self._remember(request, route.cluster)
                return route.cluster
        return None

    def _remember(self, request: Request, cluster: str) -> None:
        """Not for a query, which is seldom the same and may hold what nobody should keep."""
        target = request.target
        if len(target) > _MAX_TARGET or _QUERY in target or any(route.headers for route in self.routes):
            return
        if len(self.chosen) >= _REMEMBERED:
            self.chosen.clear()
        self.chosen[request.method, target, request.host] = cluster


def _route(options: RouteOptions) -> Route:
    host = (options.host or "").lower().encode()
    return Route(
        options.path is not None,
        (options.path or options.path_prefix or "").encode(),
        host[1:] if host.startswith(b"*.") else host,
        frozenset(method.upper().encode() for method in options.methods),
        tuple((name.lower().encode(), value.encode()) for name, value in options.headers.items()),
        options.cluster,
    )


def _host_matches(given: bytes, wanted: bytes) -> bool:
    name = given.lower()
    if not name.endswith(b"]"):
        name = name.rpartition(b":")[0] or name if b":" in name else name
    if wanted.startswith(b"."):
        return name.endswith(wanted) and b"." not in name[: -len(wanted)] and len(name) > len(wanted)
    return name == wanted
