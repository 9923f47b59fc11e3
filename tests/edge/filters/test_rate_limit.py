"""Tokens come back with time, tables stay bounded, and a reload gives nobody a fresh start."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.chain import Reply
from edge.filters.rate_limit import Buckets, RateLimit
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench, answered, ended, status_of


def ask(bench: Bench, limit: RateLimit, address: str = "192.0.2.1", tenant: str | None = None) -> int | None:
    exchange = bench.exchange(limit, peer=Peer(address))
    exchange.tenant = tenant
    status = status_of(exchange.on_head())
    ended(exchange)
    return status


def limit(bench: Bench, mode: str, **more: object) -> RateLimit:
    made = bench.build(RateLimit, **{"mode": mode, "rate": 1, "burst": 2, **more})
    assert isinstance(made, RateLimit)
    return made


@pytest.mark.parametrize(
    ("mode", "who", "statuses"),
    [
        pytest.param(
            "global",
            [("192.0.2.1", "a"), ("192.0.2.2", "b"), ("192.0.2.3", "c")],
            [None, None, 429],
            id="all",
        ),
        pytest.param(
            "per_ip",
            [("192.0.2.1", "a"), ("192.0.2.1", "b"), ("192.0.2.1", "c"), ("192.0.2.2", "a")],
            [None, None, 429, None],
            id="by address",
        ),
        pytest.param(
            "per_tenant",
            [("192.0.2.1", "a"), ("192.0.2.2", "a"), ("192.0.2.3", "a"), ("192.0.2.1", "b")],
            [None, None, 429, None],
            id="by tenant",
        ),
        pytest.param(
            "per_ip",
            [("2001:db8::1", "a"), ("2001:db8::2", "a"), ("2001:db8::3", "a"), ("2001:db8:0:1::", "a")],
            [None, None, 429, None],
            id="an IPv6 network is one client",
        ),
    ],
)
def test_who_shares_a_bucket(mode: str, who: list[tuple[str, str]], statuses: list[int | None]) -> None:
    bench = Bench()
    made = limit(bench, mode)
    assert [ask(bench, made, address, tenant) for address, tenant in who] == statuses


def test_tokens_come_back_with_time() -> None:
    bench = Bench()
    made = limit(bench, "global")
    assert [ask(bench, made) for _ in range(3)] == [None, None, 429]
    bench.clock.at += 1
    assert [ask(bench, made) for _ in range(2)] == [None, 429]
    bench.clock.at += 100
    assert [ask(bench, made) for _ in range(3)] == [None, None, 429]


def test_a_refusal_says_when_to_come_back() -> None:
    bench = Bench()
    made = limit(bench, "global", rate=0.25, burst=1)
    ask(bench, made)
    exchange = bench.exchange(made)
    response = exchange.on_head()
    assert response is not None
    reply = Reply(response.status, list(response.fields), local=True)
    exchange.on_reply(reply)
    assert reply.get(b"retry-after") == b"4"
    assert reply.get(b"x-ratelimit-remaining") == b"0"


def test_an_answer_says_what_is_left() -> None:
    bench = Bench()
    exchange = bench.exchange(limit(bench, "global"))
    exchange.on_head()
    reply = answered(exchange, fields={"x-ratelimit-limit": "the backend's"})
    assert reply.fields == [
        (b"x-ratelimit-limit", b"2"),
        (b"x-ratelimit-remaining", b"1"),
        (b"x-ratelimit-reset", b"1001001"),
    ]


def test_a_reload_keeps_the_buckets() -> None:
    bench = Bench()
    first = limit(bench, "global")
    assert [ask(bench, first) for _ in range(2)] == [None, None]
    assert ask(bench, limit(bench, "global")) == 429


def test_a_full_table_refuses_newcomers_until_others_have_recovered() -> None:
    bench = Bench()
    made = limit(bench, "per_ip", max_entries=2)
    assert [ask(bench, made, f"192.0.2.{n}") for n in range(3)] == [None, None, 429]
    assert len(made.buckets.rows) == 2
    bench.clock.at += 2
    assert ask(bench, made, "192.0.2.9") is None


@given(st.lists(st.floats(0, 5), max_size=60), st.floats(0.1, 10), st.integers(1, 10))
def test_never_more_than_burst_and_rate(gaps: list[float], rate: float, burst: int) -> None:
    buckets, now, let_through = Buckets(), 0.0, 0
    for gap in gaps:
        now += gap
        let_through += buckets.take("k", rate, burst, 10, now) >= 0
    assert let_through <= burst + now * rate + 1e-6
