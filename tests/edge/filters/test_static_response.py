"""The configured answer, whole."""

from __future__ import annotations

from edge.chain import Response
from edge.filters.static_response import StaticResponse
from tests.kit.filter_bench import Bench


def test_it_answers() -> None:
    bench = Bench()
    made = bench.build(
        StaticResponse, status=404, headers=[{"name": "Content-Type", "value": "text/plain"}], body="not here"
    )
    assert bench.exchange(made).on_head() == Response(404, b"not here", ((b"content-type", b"text/plain"),))
