"""A decision's members of a log line are bounded facts of the overlay, and nothing of whoever asked."""

from __future__ import annotations

import json
from dataclasses import replace

from edge.chain import Attempt
from edge.filters.grid_route.onward import Onward, onward
from edge.filters.grid_route.record import Records
from edge.metrics import EdgeMetrics
from edge.routing.bindings import Outcome
from edge.routing.snapshot import Snapshot
from edge.wire.faults import Cause
from grid.contract.overlay import Candidate
from grid.telemetry.logs import FIELDS
from tests.kit.routing import candidate, overlay, snapshot

EAST, WEST = candidate("east-a"), candidate("west-a", 1)
WORLD = snapshot(EAST, WEST)


def to(candidate: Candidate, by: Snapshot = WORLD) -> Onward:
    return onward(by, candidate, frozenset(), {}, EdgeMetrics())


def members(text: str) -> dict[str, object]:
    found = json.loads("{" + text.removeprefix(",") + "}")
    assert isinstance(found, dict)
    assert set(found) <= FIELDS
    return found


def test_a_decision_whole() -> None:
    records = Records("", "us-east")
    attempts = (Attempt("gateway-west-a", WEST.stable_id, Cause.REFUSED),)
    assert members(records.record(WORLD, to(EAST), Outcome.REBOUND, attempts, 1.26)) == {
        "site": "edge-us-east",
        "region": "us-east",
        "revision": "1",
        "digest": "sha256:0",
        "age_s": 1.2,
        "binding": "rebound",
        "provider": "east-a",
        "admission": "new_and_existing",
        "tier": "same_region",
        "rank": 0,
        "attempts": [
            {"candidate": WEST.stable_id, "cluster": "gateway-west-a", "fault": "connect_failed"},
        ],
    }


def test_what_is_not_known_is_left_out() -> None:
    found = members(Records("here", "").record(WORLD, None, Outcome.NO_SESSION, (), None))
    assert set(found) == {"site", "revision", "digest"}


def test_a_choice_is_written_once_for_each_outcome_of_its_binding() -> None:
    records, east = Records("", ""), to(EAST)
    said = [
        members(records.record(WORLD, east, outcome, (), age_s))
        for outcome in (Outcome.CREATED, Outcome.REUSED, Outcome.CREATED)
        for age_s in (0.1, 7.0)
    ]
    assert [(line["binding"], line["age_s"]) for line in said] == [
        ("created", 0.1), ("created", 7.0), ("reused", 0.1), ("reused", 7.0), ("created", 0.1), ("created", 7.0),
    ]  # fmt: skip
    assert len(east.said) == 2


def test_a_clock_that_was_set_back_makes_nothing_older() -> None:
    found = members(Records("", "").record(WORLD, to(EAST), Outcome.NO_SESSION, (), -5.0))
    assert found["age_s"] == 0.0


def test_another_snapshot_s_candidates_are_written_anew() -> None:
    records = Records("", "")
    moved = replace(EAST, rank=7)
    records.record(WORLD, to(EAST), Outcome.NO_SESSION, (), None)
    other = snapshot(moved)
    assert other.overlay != overlay([EAST])
    assert members(records.record(other, to(moved, other), Outcome.NO_SESSION, (), None))["rank"] == 7
