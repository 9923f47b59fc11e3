"""Strategies keep the weights, reach every endpoint, and move only the keys that must move."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.wire.balance import Name, TwoChoices, panics, strategy_of
from edge.wire.faults import Cause
from edge.wire.pool import Balancing, Cluster, Endpoint

NAMES: tuple[Name, ...] = ("round_robin", "least_connections", "p2c", "consistent_hash")

weights_of = st.lists(st.integers(1, 12), min_size=1, max_size=6)


def some(*weights: int) -> list[Endpoint]:
    return [Endpoint(f"10.0.0.{n}", 80, weight=weight) for n, weight in enumerate(weights)]


def seeded() -> random.Random:
    return random.Random(7)


def chosen(name: Name, endpoints: Sequence[Endpoint], times: int) -> Counter[str]:
    """host -> how often, of so many requests that end at once, each with a key of its own."""
    strategy = strategy_of(name, endpoints, seeded().random)
    return Counter(strategy(endpoints, b"%d" % n).host for n in range(times))


@given(weights_of, st.integers(1, 4))
def test_turns_keep_the_weights_within_one_over_a_cycle(weights: list[int], cycles: int) -> None:
    endpoints = some(*weights)
    strategy = strategy_of("round_robin", endpoints)
    for _ in range(cycles):
        counts = Counter(strategy(endpoints) for _ in range(sum(weights)))
        assert all(abs(counts[endpoint] - endpoint.weight) <= 1 for endpoint in endpoints)


@given(weights_of.filter(lambda weights: len(weights) > 1), st.data())
def test_those_that_stay_keep_their_weights_while_others_come_and_go(
    weights: list[int], data: st.DataObject
) -> None:
    endpoints = some(*weights)
    strategy = strategy_of("round_robin", endpoints)
    for _ in range(data.draw(st.integers(0, 30))):
        strategy(data.draw(st.lists(st.sampled_from(endpoints), min_size=1, unique=True)))
    left = data.draw(st.lists(st.sampled_from(endpoints), min_size=1, unique=True))
    if len({endpoint.weight for endpoint in endpoints}) > 1:
        strategy(left)  # whoever was away is a newcomer from here on
    total = sum(endpoint.weight for endpoint in left)
    counts = Counter(strategy(left) for _ in range(total * 3))
    for endpoint in left:
        share = 3 * endpoint.weight if len({e.weight for e in endpoints}) > 1 else 3 * total / len(left)
        assert abs(counts[endpoint] - share) <= 2


def test_a_heavy_endpoints_turns_are_spread() -> None:
    endpoints = some(5, 1, 1)
    strategy = strategy_of("round_robin", endpoints)
    turns = "".join(strategy(endpoints).host[-1] for _ in range(14))
    assert "00000" not in turns
    assert Counter(turns) == {"0": 10, "1": 2, "2": 2}


def test_an_endpoint_that_comes_back_does_not_catch_up() -> None:
    endpoints = some(2, 1)
    strategy = strategy_of("round_robin", endpoints)
    for _ in range(300):
        strategy(endpoints[:1])
    assert Counter(strategy(endpoints).host[-1] for _ in range(6)) == {"0": 4, "1": 2}


@pytest.mark.parametrize("name", NAMES)
@given(weights=weights_of)
def test_every_endpoint_is_reached(name: Name, weights: list[int]) -> None:
    counts = chosen(name, some(*weights), 40 * sum(weights) + 60 * len(weights))
    assert len(counts) == len(weights)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_shares_of_idle_endpoints(name: Name) -> None:
    counts = chosen(name, some(6, 3, 1), 10_000)
    for n, share in enumerate((6000, 3000, 1000)):
        assert abs(counts[f"10.0.0.{n}"] - share) < 300


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_only_open_endpoints_are_chosen(name: Name, data: st.DataObject) -> None:
    endpoints = some(*data.draw(weights_of))
    strategy = strategy_of(name, endpoints, seeded().random)
    for _ in range(10):
        for endpoint in endpoints:
            endpoint.in_flight = data.draw(st.integers(0, 5))
        left = data.draw(st.lists(st.sampled_from(endpoints), min_size=1, unique=True))
        assert strategy(left, data.draw(st.binary(max_size=8))) in left


@given(weights_of.filter(lambda weights: len(weights) > 1), st.data())
def test_only_the_keys_of_an_endpoint_that_leaves_move(weights: list[int], data: st.DataObject) -> None:
    endpoints = some(*weights)
    gone = data.draw(st.sampled_from(endpoints))
    left = [endpoint for endpoint in endpoints if endpoint is not gone]
    strategy, without = strategy_of("consistent_hash", endpoints), strategy_of("consistent_hash", left)
    for key in data.draw(st.lists(st.binary(max_size=20), max_size=50)):
        before = strategy(endpoints, key)
        assert strategy(left, key) is without(left, key)
        assert before is gone or strategy(left, key) is before


@given(st.binary(max_size=30), st.permutations(range(5)))
def test_a_key_has_one_endpoint_whatever_their_order(key: bytes, order: list[int]) -> None:
    endpoints = some(1, 2, 3, 4, 5)
    shuffled = [endpoints[n] for n in order]
    assert strategy_of("consistent_hash", endpoints)(endpoints, key) is strategy_of(
        "consistent_hash", shuffled
    )(shuffled, key)


@given(st.lists(st.binary(max_size=20), max_size=50), st.integers(1, 100))
def test_only_the_heavier_endpoint_gains_keys(keys: list[bytes], weight: int) -> None:
    light, heavy = some(1, 1, 1), some(1, 1 + weight, 1)
    before, after = strategy_of("consistent_hash", light), strategy_of("consistent_hash", heavy)
    for key in keys:
        assert after(heavy, key).host in (before(light, key).host, heavy[1].host)


@pytest.mark.parametrize("count", [2, 3, 10, 50])
def test_keys_are_spread_evenly(count: int) -> None:
    counts = chosen("consistent_hash", some(*[1] * count), 1000 * count)
    assert all(850 < n < 1150 for n in counts.values())  # five standard deviations are 158


def test_keys_stay_where_they_are_over_versions() -> None:
    endpoints = some(1, 1, 1, 1)
    strategy = strategy_of("consistent_hash", endpoints)
    places = "".join(strategy(endpoints, b"user-%d" % n).host[-1] for n in range(12))
    assert places == "331301330220"  # other numbers would move every session at an upgrade


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_two_choices_never_take_the_busiest_alone(loads: list[int], source: random.Random) -> None:
    endpoints = [Endpoint(f"10.0.0.{n}", 80, in_flight=load) for n, load in enumerate(loads)]
    choice = TwoChoices(source.random)(endpoints)
    assert sorted(loads).index(choice.in_flight) < len(loads) - 1 or loads.count(max(loads)) > 1


@pytest.mark.parametrize(
    ("weights", "loads", "expected"),
    [
        pytest.param((1, 1), (3, 2), 1, id="fewer in flight"),
        pytest.param((4, 1), (3, 1), 0, id="fewer in flight per unit of weight"),
        pytest.param((4, 1), (8, 1), 1, id="more in flight per unit of weight"),
    ],
)
@pytest.mark.parametrize("name", ["least_connections", "p2c"])
def test_busy_is_per_unit_of_weight(
    name: Name, weights: tuple[int, ...], loads: tuple[int, ...], expected: int
) -> None:
    endpoints = some(*weights)
    for endpoint, load in zip(endpoints, loads, strict=True):
        endpoint.in_flight = load
    strategy = strategy_of(name, endpoints, seeded().random)
    assert {strategy(endpoints) for _ in range(20)} == {endpoints[expected]}


@pytest.mark.parametrize(
    ("healthy", "known", "percent", "expected"),
    [
        pytest.param(0, 3, 0, False, id="0 never panics"),
        pytest.param(0, 3, 1, True, id="1: when none is healthy"),
        pytest.param(1, 3, 1, False, id="1: not while one is"),
        pytest.param(1, 2, 50, False, id="exactly the threshold"),
        pytest.param(1, 3, 50, True, id="under the threshold"),
    ],
)
def test_panic_is_under_the_threshold(healthy: int, known: int, percent: int, expected: bool) -> None:
    assert panics(healthy, known, percent) is expected


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_no_unhealthy_endpoint_is_asked_unless_the_cluster_panics(name: Name, data: st.DataObject) -> None:
    endpoints = some(*data.draw(weights_of))
    percent = data.draw(st.integers(0, 99))
    strategy = strategy_of(name, endpoints, seeded().random)
    cluster = Cluster("c", endpoints, balancing=Balancing(strategy, None, percent))
    for endpoint in endpoints:
        endpoint.healthy = data.draw(st.booleans())
    tried = data.draw(st.lists(st.sampled_from(endpoints), unique=True))
    may = [e for e in endpoints if (e.healthy or cluster.panicking) and e not in tried]
    choice = cluster.take(0.0, tried, data.draw(st.binary(max_size=8)))
    assert choice in may if may else choice is Cause.NO_ENDPOINT


@pytest.mark.parametrize("name", NAMES)
def test_in_panic_all_are_reached(name: Name) -> None:
    endpoints = some(1, 2, 3)
    cluster = Cluster("c", endpoints, balancing=Balancing(strategy_of(name, endpoints), None, 50))
    for endpoint in endpoints[1:]:
        endpoint.healthy = False
    asked = {cluster.take(0.0, (), b"%d" % n) for n in range(400)}
    assert asked == set(endpoints)
