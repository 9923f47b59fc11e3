"""A decision's members of a log line are bounded facts of the overlay, and nothing of whoever asked."""

from __future__ import annotations

import json
from dataclasses import replace

from edge.chain import Attempt
from edge.filters.grid_route.record import Records
from edge.routing.bindings import Outcome
from edge.wire.faults import Cause
from grid.telemetry.logs import FIELDS
from tests.kit.routing import candidate, overlay, snapshot

EAST, WEST = candidate("east-a"), candidate("west-a", 1)
WORLD = snapshot(EAST, WEST)


def members(text: str) -> dict[str, object]:
    found = json.loads("{" + text.removeprefix(",") + "}")
    assert isinstance(found, dict)
    assert set(found) <= FIELDS
    return found


def test_a_decision_whole() -> None:
    records = Records("", "us-east")
    attempts = (Attempt("gateway-west-a", WEST.stable_id, Cause.REFUSED),)
    assert members(records.record(WORLD, EAST, Outcome.REBOUND, attempts, 1.26)) == {
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


def test_another_snapshot_s_candidates_are_written_anew() -> None:
    records = Records("", "")
    moved = replace(EAST, rank=7)
    records.record(WORLD, EAST, Outcome.NO_SESSION, (), None)
    other = snapshot(moved)
    assert other.overlay != overlay([EAST])
    assert members(records.record(other, moved, Outcome.NO_SESSION, (), None))["rank"] == 7
