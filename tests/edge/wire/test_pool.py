"""The pool hands out the newest usable connection, dials when there is none, and never loses count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.wire.balance import LeastConnections, RoundRobin
from edge.wire.faults import Cause
from edge.wire.pool import Caps, Cluster, Endpoint


class Fake:
    """A connection that knows only whether it is usable."""

    def __init__(self, endpoint: Endpoint, usable: bool = True) -> None:
        self.endpoint = endpoint
        self.usable = usable
        self.closed = False

    def is_usable(self, now: float) -> bool:
        return self.usable

    def close(self) -> None:
        self.closed = True


def _cluster(*hosts: str, caps: Caps | None = None) -> Cluster:
    return Cluster("c", [Endpoint(host, 1) for host in hosts], caps=caps or Caps())


def _used(cluster: Cluster) -> Fake:
    """A connection that has been dialled and is carrying a request."""
    endpoint = cluster.take(0.0)
    assert isinstance(endpoint, Endpoint)
    return Fake(endpoint)


def test_the_newest_idle_connection_is_used_first() -> None:
    cluster = _cluster("a")
    old, new = _used(cluster), _used(cluster)
    for connection in (old, new):
        assert cluster.give_back(connection.endpoint, connection)
    assert cluster.take(0.0) is new
    assert cluster.take(0.0) is old
    assert isinstance(cluster.take(0.0), Endpoint)


def test_unusable_ones_are_closed_on_the_way() -> None:
    cluster = _cluster("a")
    good, stale = _used(cluster), _used(cluster)
    cluster.give_back(good.endpoint, good)
    cluster.give_back(stale.endpoint, stale)
    stale.usable = False
    assert cluster.take(0.0) is good
    assert stale.closed
    assert cluster.open == 1


def test_idle_ones_past_the_bound_are_closed() -> None:
    cluster = _cluster("a", caps=Caps(idle=1))
    one, two = _used(cluster), _used(cluster)
    assert cluster.give_back(one.endpoint, one)
    assert not cluster.give_back(two.endpoint, two)
    assert two.closed
    assert cluster.open == 1


def test_a_full_cluster_refuses_and_counts_nothing() -> None:
    cluster = _cluster("a", caps=Caps(connections=1))
    _used(cluster)
    assert cluster.take(0.0) is Cause.FULL
    assert (cluster.open, cluster.endpoints[0].in_flight) == (1, 1)


def test_an_idle_connection_elsewhere_makes_room() -> None:
    cluster = _cluster("a", "b", caps=Caps(connections=1))
    connection = _used(cluster)
    cluster.give_back(connection.endpoint, connection)
    assert cluster.take(0.0) is cluster.endpoints[1]
    assert connection.closed
    assert cluster.open == 1


@pytest.mark.parametrize(
    ("healthy", "tried", "expected"),
    [
        pytest.param([True, True], [], 0, id="all are open"),
        pytest.param([False, True], [], 1, id="one is unhealthy"),
        pytest.param([True, True], [0], 1, id="one was tried"),
        pytest.param([False, True], [1], None, id="one is unhealthy and the other was tried"),
        pytest.param([False, False], [], None, id="none is healthy: no panic unless it is asked for"),
    ],
)
def test_only_healthy_ones_that_were_not_tried_are_chosen(
    healthy: list[bool], tried: list[int], expected: int | None
) -> None:
    cluster = _cluster("a", "b")
    for endpoint, state in zip(cluster.endpoints, healthy, strict=True):
        endpoint.healthy = state
    choice = cluster.take(0.0, [cluster.endpoints[n] for n in tried])
    assert choice is (Cause.NO_ENDPOINT if expected is None else cluster.endpoints[expected])


def test_a_single_unhealthy_endpoint_is_not_chosen() -> None:
    cluster = _cluster("a")
    cluster.endpoints[0].healthy = False
    assert cluster.take(0.0) is Cause.NO_ENDPOINT


def test_after_close_nothing_is_kept() -> None:
    cluster = _cluster("a")
    idle, busy = _used(cluster), _used(cluster)
    cluster.give_back(idle.endpoint, idle)
    cluster.close()
    assert idle.closed
    assert not cluster.give_back(busy.endpoint, busy)
    assert busy.closed
    assert cluster.open == 0


def test_round_robin_takes_turns() -> None:
    endpoints = [Endpoint(name, 1) for name in "abc"]
    strategy = RoundRobin()
    assert "".join(strategy(endpoints).host for _ in range(7)) == "abcabca"


def test_least_connections_takes_the_least_and_turns_among_equals() -> None:
    endpoints = [Endpoint(name, 1, in_flight=n) for name, n in (("a", 2), ("b", 1), ("c", 1))]
    strategy = LeastConnections()
    assert {strategy(endpoints).host for _ in range(6)} == {"b", "c"}


@given(st.lists(st.sampled_from(["take", "keep", "drop", "gone", "stale", "purge"]), max_size=80))
def test_counts_always_agree_with_what_is_out(moves: list[str]) -> None:
    cluster = _cluster("a", "b", caps=Caps(connections=6, idle=2))
    out: list[Fake] = []
    for move in moves:
        if move == "take":
            choice = cluster.take(0.0)
            if isinstance(choice, Endpoint):
                out.append(Fake(choice))
            elif isinstance(choice, Fake):
                out.append(choice)
        elif move in ("keep", "drop") and out:
            connection = out.pop()
            if move == "keep":
                cluster.give_back(connection.endpoint, connection)
            else:
                cluster.drop(connection.endpoint)
        for endpoint in cluster.endpoints:
            if move == "gone" and endpoint.idle:
                cluster.gone(endpoint, endpoint.idle[0])
            if move == "purge":
                cluster.purge(endpoint)
            for idle in endpoint.idle:
                if move == "stale" and isinstance(idle, Fake):
                    idle.usable = False
        idle_count = sum(len(endpoint.idle) for endpoint in cluster.endpoints)
        assert sum(endpoint.in_flight for endpoint in cluster.endpoints) == len(out)
        assert cluster.open == len(out) + idle_count <= 6
