"""The grid-edge lab on this machine, without a container engine: every scenario holds, nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.lab import EAST, Lab
from e2e.main import PROOF
from e2e.numbers import Spread, failover
from e2e.scenario import Scenario
from e2e.scenarios import loss
from tests.kit.grid_labs import brought_up, copied, played, transcript
from tests.kit.praxis_forge import processes_with

FAULTLESS = {"last_good", "location", "boundary", "operator_restart", "drain"}
"""Scenarios in which no provider is taken from under a request: none may fail."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grid")


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Lab]:
    with brought_up(copied(folder), "embedded") as lab:
        yield lab
    assert not lab.state.exists()
    assert processes_with(str(folder)) == {}


def test_up_twice_changes_nothing(lab: Lab) -> None:
    plan = lab.forge.data("plan")
    assert plan["changes"] == []


@pytest.mark.parametrize("scenario", PROOF, ids=lambda scenario: scenario.name)
def test_a_promise_is_kept(lab: Lab, scenario: Scenario) -> None:
    record = played(lab, scenario)
    assert record.played.ok, transcript(record)
    assert not record.played.skipped
    assert len(record.played.steps) == len(scenario.steps)
    if scenario.name in FAULTLESS:
        assert all(sent.ok for sent in record.sent), transcript(record)


def test_a_lost_region_is_left_and_only_requests_in_flight_fail(
    lab: Lab, record_property: Callable[[str, object], None]
) -> None:
    """Ten times; the numbers are for the report, the promise is that no request fails elsewhere."""
    found = []
    for _ in range(10):
        record = played(lab, loss.SCENARIO)
        assert record.played.ok, transcript(record)
        one = failover(record, EAST)
        assert one is not None
        assert one.converged is not None, transcript(record)
        assert one.failed_elsewhere == 0, transcript(record)
        found.append(one)
    spread = Spread.of([one.converged for one in found if one.converged is not None])
    record_property("converged", str(spread))
