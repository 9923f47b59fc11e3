"""A line says how a request went, with names of the allow-list, and nothing about whom or what was asked."""

from __future__ import annotations

import json

import pytest

from edge.chain import Exchange
from edge.filters.access_log import AccessLog
from edge.wire.faults import Cause, End, RemoteFault
from edge.wire.ports import Peer
from grid.telemetry.logs import FIELDS
from tests.kit.filter_bench import Bench, answered, ended

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def request(bench: Bench, address: str = "192.0.2.77", **options: object) -> Exchange:
    fields = {"Authorization": "Bearer canary-key", "Cookie": "canary", "traceparent": TRACE}
    return bench.exchange(
        bench.build(AccessLog, **options),
        target="/v1/chat?key=canary-query",
        fields=fields,
        body=b'{"prompt": "canary-prompt"}',
        peer=Peer(address),
    )


def test_a_line_whole() -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.request_id, exchange.model, exchange.cluster, exchange.tenant = (
        "r1",
        "m",
        "east",
        "canary-tenant",
    )
    bench.clock.at += 0.25
    answered(exchange, 200)
    bench.clock.at += 1.5
    ended(exchange, sent_bytes=1234)
    assert json.loads(bench.lines[0]) == {
        "at": "1970-01-12T14:03:21.750Z",
        "log": "edge.access",
        "msg": "request",
        "request_id": "r1",
        "method": "POST",
        "path": "/v1/chat",
        "status": 200,
        "outcome": "complete",
        "duration_ms": 1750.0,
        "stream_ms": 1500.0,
        "bytes_in": 27,
        "bytes_out": 1234,
        "client": "192.0.2.0",
        "model": "m",
        "cluster": "east",
        "tenant_class": "authenticated",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }


def test_no_canary_is_in_a_line() -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.tenant = "canary-tenant"
    ended(exchange)
    assert b"canary" not in bench.lines[0]


def test_its_names_are_on_the_allow_list() -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.request_id, exchange.model, exchange.cluster = "r1", 'a "model"', "east"
    exchange.candidate, exchange.identity, exchange.decision = "sha256:ab", "edge", "best_tier"
    exchange.fault = RemoteFault(Cause.RESET, unsent=False)
    answered(exchange)
    ended(exchange)
    line = json.loads(bench.lines[0])
    assert line["model"] == 'a?"model"'
    assert set(line) - {"at", "log", "msg"} <= FIELDS
    assert len(line) == 21


@pytest.mark.parametrize(
    ("client", "address", "shown"),
    [
        pytest.param("truncated", "192.0.2.77", "192.0.2.0", id="truncated"),
        pytest.param("truncated", "2001:db8:1:2::9", "2001:db8:1::", id="IPv6 truncated"),
        pytest.param("full", "192.0.2.77", "192.0.2.77", id="full, where policy wants it"),
        pytest.param("none", "192.0.2.77", None, id="none"),
    ],
)
def test_clients(client: str, address: str, shown: str | None) -> None:
    bench = Bench()
    ended(request(bench, address, client=client))
    assert json.loads(bench.lines[0]).get("client") == shown


def test_a_sample_is_regular_and_failures_are_never_left_out() -> None:
    bench = Bench()
    made = bench.build(AccessLog, sample_rate=0.25)
    for status in [200] * 8 + [502]:
        exchange = bench.exchange(made)
        answered(exchange, status)
        ended(exchange)
    assert [json.loads(line)["status"] for line in bench.lines] == [200, 200, 502]


def test_quick_requests_may_be_left_out() -> None:
    bench = Bench()
    made = bench.build(AccessLog, min_duration_ms=100)
    for seconds in (0.05, 0.2):
        exchange = bench.exchange(made)
        answered(exchange)
        bench.clock.at += seconds
        ended(exchange)
    assert [json.loads(line)["duration_ms"] for line in bench.lines] == [200.0]


def test_a_fault_is_named_without_its_endpoint() -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.fault = RemoteFault(Cause.REFUSED, unsent=True, endpoint="10.9.9.9:1")
    ended(exchange, End.COMPLETE)
    assert json.loads(bench.lines[0])["fault"] == "connect_failed"
    assert b"10.9.9.9" not in bench.lines[0]


def test_odd_bytes_in_a_path_stay_readable() -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(AccessLog), target="/" + "a" * 500)
    exchange.request.target = b'/\xff"\x01' + b"a" * 500
    ended(exchange)
    path = json.loads(bench.lines[0])["path"]
    assert path.startswith('/?"?aaa')
    assert len(path) == 256


def test_a_routing_decision_is_part_of_the_line() -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.record = lambda: ',"provider":"provider-east","rank":0'
    answered(exchange)
    ended(exchange)
    line = json.loads(bench.lines[0])
    assert (line["provider"], line["rank"]) == ("provider-east", 0)


@pytest.mark.parametrize(
    ("fault", "end", "phase"),
    [
        pytest.param(RemoteFault(Cause.REFUSED, unsent=True), End.COMPLETE, "connect", id="no connection"),
        pytest.param(RemoteFault(Cause.RESET, unsent=False), End.COMPLETE, "sent", id="no answer"),
        pytest.param(RemoteFault(Cause.RESET, unsent=False), End.UPSTREAM_BROKE, "replying", id="cut off"),
    ],
)
def test_a_failure_says_how_far_the_upstream_had_come(fault: RemoteFault, end: End, phase: str) -> None:
    bench = Bench()
    exchange = request(bench)
    exchange.fault = fault
    answered(exchange, 502)
    ended(exchange, end)
    assert json.loads(bench.lines[0])["phase"] == phase
