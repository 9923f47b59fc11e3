"""Fields are removed, set and added in that order, and framing is nobody's to write."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from edge.filters.headers import Headers
from tests.kit.filter_bench import Bench, answered, field_of


def test_requests() -> None:
    bench = Bench()
    made = bench.build(
        Headers,
        request_add=[{"name": "X-A", "value": "2"}, {"name": "X-New", "value": "n"}],
        request_set=[{"name": "X-B", "value": "set"}],
        request_remove=["X-C"],
    )
    exchange = bench.exchange(made, fields={"X-A": "1", "X-B": "old", "X-C": "gone"})
    exchange.on_head()
    assert [field_of(exchange, n) for n in ("x-a", "x-new", "x-b", "x-c")] == ["1, 2", "n", "set", None]


def test_answers() -> None:
    bench = Bench()
    made = bench.build(
        Headers,
        response_add=[{"name": "X-A", "value": "2"}],
        response_set=[{"name": "X-Frame-Options", "value": "DENY"}],
        response_remove=["Server"],
    )
    exchange = bench.exchange(made)
    reply = answered(exchange, fields={"X-A": "1", "Server": "backend", "X-Frame-Options": "ALLOW"})
    assert reply.fields == [(b"x-a", b"1"), (b"x-frame-options", b"DENY"), (b"x-a", b"2")]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="nothing to do"),
        pytest.param({"request_add": [{"name": "Content-Length", "value": "0"}]}, id="framing"),
        pytest.param({"request_add": [{"name": "X A", "value": "0"}]}, id="not a name"),
        pytest.param({"response_set": [{"name": "X-A", "value": "a\r\nX-B: b"}]}, id="two lines in a value"),
        pytest.param({"response_remove": ["Transfer-Encoding"]}, id="framing removed"),
    ],
)
def test_what_cannot_be_written(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Bench().build(Headers, **options)
