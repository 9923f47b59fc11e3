"""A request that is refused for want of room is answered, counted and logged, and no filter works for it."""

from __future__ import annotations

import json

from edge.chain import Chain, Reply, Request, Response, Step
from edge.filters.access_log import AccessLog
from edge.filters.observe import Observe
from edge.filters.rate_limit import RateLimit
from edge.service import ChainService, Gate
from edge.wire.faults import End, LocalFault
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench


def service(bench: Bench, gate: Gate) -> ChainService:
    limit = bench.build(RateLimit, mode="global", rate=1, burst=1)
    log = bench.build(AccessLog)
    bench.metrics.listener.admit(["main"])
    steps = [
        Step("observe", Observe("main", bench.metrics)),
        Step("rate_limit", limit),
        Step("access_log", log),
    ]
    return ChainService(Chain(steps), bench.clock.now, gate, bench.metrics, "main")


def request() -> Request:
    made = Request()
    made.method, made.target = b"GET", b"/"
    return made


def test_a_closed_gate() -> None:
    bench = Bench()
    made = service(bench, Gate("memory"))
    handler = made.open(request(), Peer("192.0.2.1"))
    assert bench.metrics.active["main",][0] == 1
    response = handler.on_head()
    assert isinstance(response, Response)
    assert (response.status, response.close, dict(response.fields)[b"retry-after"]) == (503, True, b"1")
    handler.on_reply(Reply(response.status, list(response.fields), local=True))
    handler.on_end(End.COMPLETE, 0, b"")
    assert bench.metrics.active["main",][0] == 0
    assert bench.metrics.overload.value("memory") == 1
    assert bench.metrics.requests.value("GET", "5xx", "main", "none") == 1
    assert json.loads(bench.lines[0])["reason"] == "overloaded"


def test_an_open_gate_takes_nothing_from_the_limits_of_those_refused() -> None:
    bench = Bench()
    gate = Gate("memory")
    made = service(bench, gate)
    for _ in range(3):
        made.open(request(), Peer("192.0.2.1")).on_head()
    gate.closed_by = None
    assert made.open(request(), Peer("192.0.2.1")).on_head() is None


def test_what_never_became_a_request_is_counted() -> None:
    bench = Bench()
    made = service(bench, Gate())
    response = made.refuse(LocalFault(400, "bad_request", "No."), Peer("192.0.2.1"))
    assert response.status == 400
    made.refuse(LocalFault(503, "overloaded", "Full.", retry_after_s=1), Peer("192.0.2.1"))
    assert bench.metrics.overload.value("listener_connections") == 1
    assert bench.metrics.errors.value("downstream") == 2
    assert bench.metrics.refusals.value("bad_request") == 1
