"""P99 is that of the last minute's requests, whatever came before; and never more than the buckets can say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.reconcile.latency import WINDOW_S, Buckets, Latency, cumulative, quantile

BOUNDS = (100.0, 1000.0, math.inf)


def buckets(*counts: float) -> Buckets:
    """Cumulative counts up to 100 ms, up to 1 s, and all."""
    return tuple(zip(BOUNDS, counts, strict=True))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((), None, id="no buckets"),
        pytest.param(buckets(0, 0, 0), None, id="no request"),
        pytest.param(buckets(100, 100, 100), 99.0, id="all in the first bucket"),
        pytest.param(buckets(98, 100, 100), 550.0, id="half way into the second"),
        pytest.param(buckets(0, 0, 5), 1000.0, id="beyond the last bound counts as that bound"),
        pytest.param(((math.inf, 5.0),), None, id="no finite bound"),
    ],
)
def test_quantile(found: Buckets, expected: float | None) -> None:
    assert quantile(found, 0.99) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        pytest.param(
            [(0.1, 1), (math.inf, 2), (0.1, 3), (math.inf, 5)], ((0.1, 4), (math.inf, 7)), id="summed"
        ),
        pytest.param(
            [(1.0, 1), (0.1, 3), (math.inf, 5)], ((0.1, 3), (1.0, 3), (math.inf, 5)), id="never falling"
        ),
        pytest.param([(0.1, 1)], (), id="without an end it is none"),
        pytest.param([], (), id="nothing"),
    ],
)
def test_series_are_one_histogram(counted: list[tuple[float, float]], expected: Buckets) -> None:
    assert cumulative(counted) == expected


def p99s(*scrapes: tuple[float, Buckets]) -> list[int | None]:
    """What each scrape gives, in order, as whole milliseconds."""
    latency, found = Latency(), list[int | None]()
    for at, seen in scrapes:
        latency = latency.seen(seen, at)
        found.append(None if latency.p99 is None else round(latency.p99))
    return found


@pytest.mark.parametrize(
    ("scrapes", "expected"),
    [
        pytest.param([(0, buckets(100, 100, 100))], [99], id="the first goes by all there is"),
        pytest.param([(0, buckets(0, 0, 0))], [None], id="nobody has ever asked"),
        pytest.param(
            [(0, buckets(0, 0, 900)), (30, buckets(100, 100, 1000))], [1000, 99], id="only what is new counts"
        ),
        pytest.param(
            [(0, buckets(100, 100, 100)), (30, buckets(100, 100, 100))], [99, 99], id="nobody asked meanwhile"
        ),
        pytest.param(
            [(0, buckets(100, 100, 100)), (30, buckets(0, 0, 7))], [99, 1000], id="an engine that began again"
        ),
        pytest.param(
            [
                (0, buckets(0, 0, 9)),
                (30, buckets(0, 0, 900)),
                (95, buckets(0, 100, 1000)),
                (130, buckets(0, 200, 1100)),
            ],
            [1000, 1000, 991, 991],
            id="what is older than a minute is let go",
        ),
        pytest.param([(0, buckets(1, 1, 1)), (1, ((0.1, 4.0), (math.inf, 4.0)))], [99, 0], id="other bounds"),
    ],
)
def test_the_last_minute(scrapes: list[tuple[float, Buckets]], expected: list[int | None]) -> None:
    assert p99s(*scrapes) == expected


COUNTS = st.lists(st.integers(0, 50), min_size=3, max_size=3)


@given(st.lists(st.tuples(st.floats(0, 100), COUNTS), max_size=12))
def test_it_is_always_within_the_bounds_and_remembers_little(rounds: list[tuple[float, list[int]]]) -> None:
    latency, now = Latency(), 0.0
    for pause, (first, second, third) in rounds:
        now += pause
        latency = latency.seen(buckets(first, first + second, first + second + third), now)
        assert latency.p99 is None or 0 <= latency.p99 <= 1000
        assert sum(at <= now - WINDOW_S for at, _ in latency.scrapes) <= 1
