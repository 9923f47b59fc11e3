"""A failing cluster is left alone, then asked by one request at a time until it answers."""

from __future__ import annotations

import pytest

from edge.chain import Attempt, Exchange
from edge.filters.circuit_breaker import CircuitBreaker
from edge.setup import Unusable
from edge.wire.faults import Cause, End, RemoteFault
from edge.wire.pool import Cluster, Endpoint
from tests.kit.filter_bench import Bench, answered, ended, on_body, status_of

MOVED = Attempt("east", None, Cause.REFUSED)
RULE = {"name": "east", "consecutive_failures": 2, "recovery_window_secs": 10, "half_open_timeout_secs": 5}


def breaker(bench: Bench) -> CircuitBreaker:
    made = bench.build(CircuitBreaker, clusters=[RULE])
    assert isinstance(made, CircuitBreaker)
    return made


def begin(bench: Bench, made: CircuitBreaker, cluster: str = "east") -> tuple[Exchange, int | None]:
    exchange = bench.exchange(made)
    exchange.cluster = cluster
    return exchange, status_of(on_body(exchange))


def ask(
    bench: Bench, made: CircuitBreaker, outcome: int | Cause | End | Attempt, cluster: str = "east"
) -> int | None:
    """Status of the breaker's refusal; otherwise the request ends with *outcome*."""
    exchange, status = begin(bench, made, cluster)
    match outcome:
        case Cause():
            exchange.fault = RemoteFault(outcome, unsent=False)
            ended(exchange)
        case End():
            ended(exchange, outcome)
        case Attempt():
            exchange.attempts, exchange.cluster = (outcome,), "west"
            answered(exchange, 200)
            ended(exchange)
        case int():
            answered(exchange, outcome)
            ended(exchange)
    return status


@pytest.mark.parametrize(
    ("outcomes", "opens"),
    [
        pytest.param([500, 503], True, id="two in a row"),
        pytest.param([500, 200, 500], False, id="a success between"),
        pytest.param([Cause.RESET, Cause.REFUSED], True, id="no answer"),
        pytest.param([404, 429], False, id="the client's own mistakes"),
        pytest.param([End.CLIENT_GONE, End.CLIENT_GONE], False, id="clients that leave"),
        pytest.param([Cause.FULL, Cause.FULL], False, id="our own bound"),
        pytest.param([MOVED, MOVED], True, id="gave way to another that answered"),
    ],
)
def test_what_opens_it(outcomes: list[int | Cause | End | Attempt], opens: bool) -> None:
    bench = Bench()
    made = breaker(bench)
    for outcome in outcomes:
        assert ask(bench, made, outcome) is None
    assert begin(bench, made)[1] == (503 if opens else None)


def test_an_open_circuit_says_when_to_come_back() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    bench.clock.at += 3
    exchange = bench.exchange(made)
    exchange.cluster = "east"
    response = on_body(exchange)
    assert response is not None
    fields = dict(response.fields)
    assert (fields[b"retry-after"], fields[b"x-circuit-state"]) == (b"7", b"open")


def test_one_probe_at_a_time_closes_it_or_opens_it_again() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    bench.clock.at += 10
    probe, status = begin(bench, made)
    assert status is None
    assert ask(bench, made, 200) == 503
    answered(probe, 500)
    ended(probe)
    assert ask(bench, made, 200) == 503
    bench.clock.at += 10
    assert [ask(bench, made, 200) for _ in range(3)] == [None, None, None]


def test_a_probe_that_hangs_stands_in_the_way_for_a_while_only() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    bench.clock.at += 10
    begin(bench, made)
    assert ask(bench, made, 200) == 503
    bench.clock.at += 5
    assert ask(bench, made, 200) is None


def test_a_probe_whose_client_left_makes_room_for_another() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    bench.clock.at += 10
    assert ask(bench, made, End.CLIENT_GONE) is None
    assert ask(bench, made, 200) is None


def test_clusters_do_not_share_a_circuit() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    assert ask(bench, made, 200, "west") is None


def test_a_reload_keeps_it_open() -> None:
    bench = Bench()
    made = breaker(bench)
    ask(bench, made, 500)
    ask(bench, made, 500)
    assert ask(bench, breaker(bench), 200) == 503


def test_an_unknown_cluster_is_refused() -> None:
    with pytest.raises(Unusable, match="no cluster 'north'"):
        Bench().build(CircuitBreaker, clusters=[{**RULE, "name": "north"}])


def test_an_open_circuit_gives_way_to_the_route_s_next_cluster() -> None:
    bench = Bench()
    made = breaker(bench)
    for _ in range(2):
        ask(bench, made, 500)
    exchange = bench.exchange(made)
    exchange.cluster = "east"

    def other(_: RemoteFault) -> Cluster | None:
        exchange.cluster = "west" if exchange.cluster == "east" else None
        return Cluster("west", [Endpoint("h", 1)]) if exchange.cluster else None

    exchange.next_upstream = other
    assert on_body(exchange) is None
    assert [(a.cluster, a.cause) for a in exchange.attempts] == [("east", Cause.NO_ENDPOINT)]
    assert exchange.cluster == "west"
