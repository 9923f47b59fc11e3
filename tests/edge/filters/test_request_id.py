"""Every request has an id that cannot do harm, and its answer carries it."""

from __future__ import annotations

import pytest

from edge.filters.request_id import RequestId
from tests.kit.filter_bench import Bench, answered, field_of


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("abc-123", "abc-123", id="a sane one is kept"),
        pytest.param(None, "id-1", id="a missing one is made"),
        pytest.param("a b", "id-1", id="one with a space is replaced"),
        pytest.param("x" * 129, "id-1", id="a long one is replaced"),
        pytest.param('{"a":1}', "id-1", id="one that means something elsewhere is replaced"),
    ],
)
def test_the_id(given: str | None, kept: str) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(RequestId), fields={} if given is None else {"X-Request-ID": given})
    assert exchange.on_head() is None
    assert (exchange.request_id, field_of(exchange, "x-request-id")) == (kept, kept)
    assert answered(exchange, fields={"X-Request-ID": "the backend's"}).fields == [
        (b"x-request-id", kept.encode())
    ]


def test_a_client_need_not_be_believed() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(RequestId, trust_client=False), fields={"X-Request-ID": "abc"})
    exchange.on_head()
    assert exchange.request_id == "id-1"
