"""A place is held to the end, whatever the end is, and given back once."""

from __future__ import annotations

import pytest

from edge.chain import Exchange
from edge.filters.concurrency_limit import ConcurrencyLimit
from edge.wire.faults import End
from tests.kit.filter_bench import Bench, ended, status_of


def begin(bench: Bench, made: ConcurrencyLimit, tenant: str) -> tuple[Exchange, int | None]:
    exchange = bench.exchange(made)
    exchange.tenant = tenant
    return exchange, status_of(exchange.on_head())


def limit(bench: Bench, **options: int) -> ConcurrencyLimit:
    made = bench.build(ConcurrencyLimit, **options)
    assert isinstance(made, ConcurrencyLimit)
    return made


@pytest.mark.parametrize(
    ("options", "tenants", "statuses"),
    [
        pytest.param({"max_requests": 2}, ["a", "b", "c"], [None, None, 429], id="together"),
        pytest.param({"max_per_tenant": 1}, ["a", "b", "a"], [None, None, 429], id="per tenant"),
        pytest.param(
            {"max_requests": 2, "max_per_tenant": 1}, ["a", "a", "b", "c"], [None, 429, None, 429], id="both"
        ),
    ],
)
def test_places(options: dict[str, int], tenants: list[str], statuses: list[int | None]) -> None:
    bench = Bench()
    made = limit(bench, **options)
    assert [begin(bench, made, tenant)[1] for tenant in tenants] == statuses


@pytest.mark.parametrize("end", list(End))
def test_any_end_gives_the_place_back(end: End) -> None:
    bench = Bench()
    made = limit(bench, max_requests=1)
    first, _ = begin(bench, made, "a")
    refused, status = begin(bench, made, "a")
    assert status == 429
    ended(refused)  # it held nothing and gives nothing back
    assert begin(bench, made, "a")[1] == 429
    ended(first, end)
    assert begin(bench, made, "a")[1] is None


def test_streams_of_before_a_reload_still_count() -> None:
    bench = Bench()
    first, _ = begin(bench, limit(bench, max_requests=1), "a")
    after = limit(bench, max_requests=1)
    assert begin(bench, after, "a")[1] == 429
    ended(first)
    assert begin(bench, after, "a")[1] is None
