"""The most specific route that matches decides, however the path is spelled."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from edge.filters.router import Router
from tests.kit.filter_bench import Bench, on_body

ROUTES = [
    {"path_prefix": "/", "cluster": "any"},
    {"path_prefix": "/v1", "cluster": "v1"},
    {"path_prefix": "/v1/", "host": "api.grid.test", "cluster": "api"},
    {"path": "/v1/models", "cluster": "models"},
    {"path_prefix": "/v1", "headers": {"X-Model": "big"}, "cluster": "big"},
    {"path_prefix": "/", "host": "*.lab.test", "cluster": "lab"},
    {"path_prefix": "/admin", "methods": ["GET"], "cluster": "read"},
]


@pytest.mark.parametrize(
    ("target", "host", "fields", "cluster"),
    [
        pytest.param("/x", "other", {}, "any", id="the catch-all"),
        pytest.param("/v1", "other", {}, "v1", id="a longer prefix"),
        pytest.param("/v1beta", "other", {}, "any", id="a prefix ends at a segment"),
        pytest.param("/v1/chat", "api.grid.test", {}, "api", id="by host"),
        pytest.param("/v1/chat", "API.grid.test:8443", {}, "api", id="a host in any case, with a port"),
        pytest.param("/v1/models", "api.grid.test", {}, "models", id="an exact path first"),
        pytest.param("/v1/models?limit=1", "other", {}, "models", id="the query does not count"),
        pytest.param("/v1/%6dodels", "other", {}, "models", id="an escaped path"),
        pytest.param("//v1/x/../models", "other", {}, "models", id="a path with dots"),
        pytest.param("/v1", "other", {"X-Model": "big"}, "big", id="more constraints first"),
        pytest.param("/x", "a.lab.test", {}, "lab", id="one label for the star"),
        pytest.param("/x", "a.b.lab.test", {}, "any", id="not two labels"),
        pytest.param("/x", "lab.test", {}, "any", id="not none"),
        pytest.param("/admin", "other", {}, "any", id="another method"),
    ],
)
def test_routes(target: str, host: str, fields: dict[str, str], cluster: str) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(Router, routes=ROUTES), target=target, host=host, fields=fields)
    on_body(exchange)
    assert exchange.cluster == cluster


def test_nothing_matches() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(Router, routes=[{"path": "/a", "cluster": "a"}]), target="/b")
    exchange.on_body()
    assert (exchange.cluster, exchange.refusal) == (None, "no_route")


@pytest.mark.parametrize(
    "route",
    [
        pytest.param({"cluster": "a"}, id="no path"),
        pytest.param({"path": "/a", "path_prefix": "/a", "cluster": "a"}, id="both"),
        pytest.param({"path": "/a/../b", "cluster": "a"}, id="a path that never comes"),
        pytest.param({"path": "/a"}, id="no cluster"),
    ],
)
def test_what_is_no_route(route: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Bench().build(Router, routes=[route])
