"""Every request is counted once, by what it came to."""

from __future__ import annotations

import pytest

from edge.chain import Exchange, refuse
from edge.filters.observe import Observe
from edge.wire.faults import Cause, End, RemoteFault
from edge.wire.pool import Cluster, Endpoint
from tests.kit.filter_bench import Bench, answered, ended


def observed(bench: Bench) -> Exchange:
    bench.metrics.listener.admit(["main"])
    bench.metrics.cluster.admit(["east"])
    exchange = bench.exchange(Observe("main", bench.metrics))
    bench.metrics.active["main",][0] += 1  # where it is opened
    return exchange


def test_an_answer() -> None:
    bench = Bench()
    exchange = observed(bench)
    exchange.cluster, exchange.upstream = "east", Cluster("east", [Endpoint("h", 1)])
    assert bench.metrics.active["main",][0] == 1
    answered(exchange, 200)
    ended(exchange)
    assert bench.metrics.active["main",][0] == 0
    assert bench.metrics.requests.value("POST", "2xx", "main", "east") == 1
    assert bench.metrics.upstream.value("east", "2xx") == 1


def test_a_refusal() -> None:
    bench = Bench()
    exchange = observed(bench)
    answered(exchange, refuse(exchange, 429, "rate_limit_exceeded").status)
    ended(exchange)
    assert bench.metrics.refusals.value("rate_limit_exceeded") == 1
    assert bench.metrics.errors.value("filter_reject") == 1
    assert bench.metrics.requests.value("POST", "4xx", "main", "none") == 1


@pytest.mark.parametrize(
    ("fault", "family"),
    [
        pytest.param(RemoteFault(Cause.REFUSED, unsent=True), "upstream_unavailable", id="refused"),
        pytest.param(RemoteFault(Cause.FIRST_BYTE_TIMEOUT, unsent=False), "timeout", id="too slow"),
        pytest.param(RemoteFault(Cause.PROTOCOL, unsent=False), "upstream_protocol", id="not HTTP"),
        pytest.param(RemoteFault(Cause.FULL, unsent=True), "upstream_unavailable", id="full"),
    ],
)
def test_faults(fault: RemoteFault, family: str) -> None:
    bench = Bench()
    exchange = observed(bench)
    exchange.cluster, exchange.upstream = "east", Cluster("east", [Endpoint("h", 1)])
    exchange.on_failed(fault)
    answered(exchange, fault.status)
    ended(exchange)
    assert bench.metrics.errors.value(family) == 1
    assert bench.metrics.connect_failures.value("east", str(fault.cause)) == fault.unsent


def test_a_client_that_left_before_its_answer() -> None:
    bench = Bench()
    exchange = observed(bench)
    ended(exchange, End.CLIENT_GONE)
    assert bench.metrics.errors.value("downstream") == 1
    assert bench.metrics.requests.value("POST", "none", "main", "none") == 1


def test_a_cluster_that_gave_way_is_not_the_answering_ones_failure() -> None:
    bench = Bench()
    exchange = observed(bench)
    bench.metrics.cluster.admit(["west"])
    east, west = (Cluster(name, [Endpoint("h", 1)]) for name in ("east", "west"))
    exchange.cluster, exchange.upstream = "east", east

    def other(_: RemoteFault) -> Cluster:
        exchange.cluster = "west"
        return west

    exchange.next_upstream = other
    assert exchange.on_unsent(RemoteFault(Cause.TLS, unsent=True)) is west
    answered(exchange, 200)
    ended(exchange)
    assert bench.metrics.connect_failures.value("east", "tls_failed") == 1
    assert bench.metrics.trust_failures.value("upstream") == 1
    assert bench.metrics.upstream.value("west", "2xx") == 1
    assert bench.metrics.upstream.value("west", "none") == 0


def test_a_peer_that_is_not_trusted() -> None:
    bench = Bench()
    exchange = observed(bench)
    answered(exchange, refuse(exchange, 403, "peer_not_trusted").status)
    ended(exchange)
    assert bench.metrics.trust_failures.value("peer") == 1
