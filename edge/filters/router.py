"""Chooses a cluster by path, host, method and headers: the most specific route that matches, else 404.

An exact path is before a prefix, a longer prefix before a shorter one, more constraints before fewer. Paths
are compared in their normalised form; prefixes end at a segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from edge.chain import Exchange, Request, Response, Traits, refuse
from edge.config.conditions import under
from edge.config.paths import normalise
from edge.config.strict import Strict
from edge.setup import Setup

_QUERY = ord("?")
_REMEMBERED = 1024
_MAX_TARGET = 256  # bytes


class RouteOptions(Strict):
    """host: a name, or `*.name` for one label before it. headers: name -> exact value."""

    path: str | None = None
    path_prefix: str | None = None
    host: Annotated[str, Field(max_length=253)] | None = None
    methods: list[str] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)
    cluster: str

    @field_validator("path", "path_prefix")
    @classmethod
    def _comparable(cls, path: str | None) -> str | None:
        if path is not None and (not path.startswith("/") or normalise(path.encode()) != path.encode()):
            raise ValueError("must begin with '/' and be normalised: no '//', '.', '..', ';' or '%'")
        return path

    @model_validator(mode="after")
    def _one(self) -> RouteOptions:
        if (self.path is None) == (self.path_prefix is None):
            raise ValueError("needs exactly one of path, path_prefix")
        return self


class Options(Strict):
    routes: Annotated[list[RouteOptions], Field(min_length=1, max_length=10_000)]


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


@dataclass(frozen=True, slots=True)
class Router:
    """routes: the most specific first; among equals the order of the file. chosen: (method, target, host) ->
    cluster, of requests routed before; unused when a route looks at other fields, which filters may write."""

    routes: tuple[Route, ...]
    chosen: dict[tuple[bytes, bytes, bytes], str] = field(default_factory=dict, repr=False)

    config = Options
    traits = Traits(writes=frozenset({"cluster"}))

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
