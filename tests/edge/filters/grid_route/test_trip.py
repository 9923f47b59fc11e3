"""A request goes on to the next candidate while no byte has left, bounded, and is counted and told of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edge.chain import Reply, Response
from edge.routing.cooling import COOL_S
from edge.routing.decision import Reason
from edge.wire.faults import Cause, RemoteFault
from tests.edge.filters.grid_route.test_filter import REFUSED, Lab, lab
from tests.kit.filter_bench import field_of
from tests.kit.overlays import candidate

__all__ = ["lab"]


def test_pre_connect_failover_goes_to_the_next_candidate_and_rebinds_the_session(lab: Lab) -> None:
    route = lab.filter()
    exchange, _ = lab.ask(route, "conversation-7")
    first = exchange.cluster
    assert exchange.next_upstream is not None
    second = exchange.next_upstream(REFUSED)
    assert second is not None
    assert second.name == exchange.cluster != first
    assert field_of(exchange, "x-ai-routing-candidate") == exchange.candidate
    assert field_of(exchange, "x-ai-routing-request-id") == "id-2"
    assert lab.ask(route, "conversation-7")[0].cluster == second.name
    third = exchange.next_upstream(REFUSED)
    assert third is not None
    assert third.name == "gateway-far"
    assert field_of(exchange, "x-ai-routing-candidate") is None
    assert exchange.next_upstream(REFUSED) is None


def test_the_next_request_does_not_try_the_dead_one_first(lab: Lab) -> None:
    route = lab.filter(affinity=None)
    exchange, _ = lab.ask(route)
    assert exchange.next_upstream is not None
    exchange.next_upstream(REFUSED)
    assert lab.ask(route)[0].cluster == "gateway-near-b"
    lab.bench.clock.at += COOL_S
    assert [lab.ask(route)[0].cluster for _ in range(2)] == ["gateway-near-a", "gateway-near-b"]
    exchange.cluster = "gateway-near-a"
    route.on_reply(exchange, Reply(200, []))
    assert lab.ask(route)[0].cluster == "gateway-near-a"


def test_a_cluster_that_broke_after_the_request_left_is_not_left_aside(lab: Lab) -> None:
    route = lab.filter(affinity=None)
    exchange, _ = lab.ask(route)
    assert exchange.next_upstream is not None
    exchange.next_upstream(RemoteFault(Cause.UNSENT, unsent=True))
    assert lab.ask(route)[0].cluster == "gateway-near-a"


def test_where_nobody_else_is_left_the_dead_one_is_tried(lab: Lab) -> None:
    lab.write([candidate("near-a")])
    route = lab.filter()
    exchange, _ = lab.ask(route, "conversation-7")
    assert exchange.next_upstream is not None
    assert exchange.next_upstream(REFUSED) is None
    again, refusal = lab.ask(route, "conversation-7")
    assert (refusal, again.cluster, again.decision) == (None, "gateway-near-a", "bound")


def test_all_candidate_providers_unavailable_fails_closed_with_retry_after(lab: Lab) -> None:
    route = lab.filter(max_attempts=1)
    exchange, _ = lab.ask(route)
    outcome = exchange.on_unsent(REFUSED)
    assert isinstance(outcome, Response)
    reply = Reply(outcome.status, list(outcome.fields), local=True)
    route.on_reply(exchange, reply)
    assert (reply.status, reply.get(b"retry-after")) == (503, b"1")


def test_decisions_choices_and_sessions_are_counted(lab: Lab) -> None:
    route, metrics = lab.filter(), lab.bench.metrics
    lab.ask(route)
    exchange, _ = lab.ask(route, "conversation-7")
    assert exchange.next_upstream is not None
    exchange.next_upstream(REFUSED)
    lab.ask(route, model="absent")
    lab.ask(route, model="closed")
    counted = {
        reason: metrics.decisions.value(reason) for reason in Reason if metrics.decisions.value(reason)
    }
    assert counted == {"rank": 1, "affinity": 2, "unknown_capability": 1, "no_candidate_open": 1}
    assert sum(metrics.selections.value("shared-model", site) for site in ("near-a", "near-b")) == 3
    moved = [metrics.failovers.value("shared-model", site, "connect_failed") for site in ("near-a", "near-b")]
    assert sum(moved) == 1
    assert (metrics.affinity.value("created"), metrics.affinity.value("rebound")) == (1, 1)
    assert metrics.overlays.value("accepted") == 1


def test_the_log_line_says_what_was_decided_and_by_which_overlay(lab: Lab) -> None:
    exchange, _ = lab.ask(lab.filter(local_region="us-east"), "conversation-7")
    assert exchange.record is not None
    line = json.loads("{" + exchange.record().removeprefix(",") + "}")
    assert line.pop("provider") in {"near-a", "near-b"}
    assert line.pop("rank") in {0, 1}
    assert line.pop("digest").startswith("sha256:")
    assert line == {
        "site": "edge-us-east",
        "region": "us-east",
        "revision": "42",
        "age_s": 0.0,
        "binding": "created",
        "admission": "new_and_existing",
        "tier": "same_region",
    }


def test_failover_keeps_the_request_s_own_timeout(lab: Lab) -> None:
    route = lab.filter()
    exchange, _ = lab.ask(route)
    exchange.first_byte_s = 7.0
    assert exchange.next_upstream is not None
    second = exchange.next_upstream(REFUSED)
    assert second is not None
    known = route.routing.clusters[second.name]
    assert (second.timeouts.first_byte_s, known.timeouts.first_byte_s) == (7.0, 300.0)
    assert second.endpoints is known.endpoints


@pytest.mark.parametrize(
    ("options", "later_s"),
    [pytest.param({"max_attempts": 1}, 0, id="attempts"), pytest.param({"attempts_secs": 2.0}, 2, id="time")],
)
def test_failover_is_bounded(lab: Lab, options: dict[str, Any], later_s: float) -> None:
    exchange, _ = lab.ask(lab.filter(**options))
    lab.bench.clock.at += later_s
    assert exchange.next_upstream is not None
    assert exchange.next_upstream(REFUSED) is None
