"""The named cluster takes the request, with the request's own patience."""

from __future__ import annotations

from edge.filters.load_balancer import LoadBalancer
from edge.filters.timeout import Timeout
from edge.wire.pool import Cluster
from tests.kit.filter_bench import Bench, on_body, status_of


def test_the_cluster_is_the_one_the_routing_named() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(LoadBalancer))
    exchange.cluster = "west"
    assert on_body(exchange) is None
    assert exchange.upstream is not None
    assert exchange.upstream.name == "west"


def test_without_a_cluster_nothing_is_sent() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(LoadBalancer))
    assert status_of(on_body(exchange)) == 503


def test_a_timeout_is_the_requests_own_on_the_same_connections() -> None:
    bench = Bench()
    balancer = bench.build(LoadBalancer)

    def upstream(*timeouts: int) -> Cluster:
        exchange = bench.exchange(*(bench.build(Timeout, timeout_ms=ms) for ms in timeouts), balancer)
        exchange.on_head()
        exchange.cluster = "west"
        found = exchange.on_body()
        assert isinstance(found, Cluster)
        return found

    plain, hasty = upstream(), upstream(2000, 500, 1000)
    assert hasty.timeouts.first_byte_s == 0.5
    assert plain.timeouts.first_byte_s > 2
    assert hasty.endpoints is plain.endpoints
    assert upstream(500) is hasty
