"""What declares too much is refused at once; what declares nothing is bounded as it arrives."""

from __future__ import annotations

import pytest

from edge.filters.body_limit import BodyLimit
from tests.kit.filter_bench import Bench, status_of


@pytest.mark.parametrize(
    ("length", "status"),
    [
        pytest.param(100, None, id="just fits"),
        pytest.param(101, 413, id="one too many"),
        pytest.param(0, None, id="no body"),
        pytest.param(-1, None, id="unknown until it is read"),
    ],
)
def test_declared_lengths(length: int, status: int | None) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(BodyLimit, max_bytes=100), length=length)
    assert status_of(exchange.on_head()) == status
    if status is None:
        assert exchange.body_limit == 100
