"""Where the time of a failover went, from what was noted on the way."""

from __future__ import annotations

import pytest

from e2e.lab import EAST
from e2e.numbers import Spread, accept_delays, failover
from e2e.scenario import Mark
from e2e.traffic import located
from tests.kit.records import BEGUN, loss, record, sent

FAULT = Mark(BEGUN + 1.0, "fault", "stop east")


def test_the_parts_add_up_to_the_whole() -> None:
    requests = (
        sent(BEGUN + 0.5),
        sent(BEGUN + 1.2, took_s=0.05),
        sent(BEGUN + 1.5, status=502),
        sent(BEGUN + 4),
    )
    found = failover(record(marks=(FAULT,), requests=requests, revisions=loss()), EAST)
    assert found is not None
    assert found.detected == pytest.approx(0.9)
    assert found.synced == pytest.approx(0.1)
    assert found.accepted == pytest.approx(0.1)
    assert found.converged == pytest.approx(1.1)
    assert found.answered == pytest.approx(0.25)
    assert found.slowest_ms == pytest.approx(50)
    assert (found.failed, found.failed_elsewhere) == (1, 0)


def test_a_failure_outside_of_the_loss_is_counted_apart() -> None:
    requests = (sent(BEGUN + 0.5, status=0), sent(BEGUN + 1.5))
    found = failover(record(marks=(FAULT,), requests=requests, revisions=loss()), EAST)
    assert found is not None
    assert (found.failed, found.failed_elsewhere) == (0, 1)


def test_without_a_fault_there_was_no_failover() -> None:
    assert failover(record(revisions=loss()), EAST) is None


def test_what_was_not_seen_is_none() -> None:
    found = failover(record(marks=(FAULT,)), EAST)
    assert found is not None
    assert (found.detected, found.converged, found.answered) == (None, None, None)


def test_each_revision_has_its_way_to_the_edge() -> None:
    assert list(accept_delays(record(revisions=loss()))) == pytest.approx([0.2])


def test_a_spread_of_nothing_is_none() -> None:
    assert Spread.of([]) is None
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(3, 2.0, 3.0, 3.0)


def test_a_request_is_located_by_its_id() -> None:
    one, other = located(
        (sent(1.0), sent(2.0)),
        [{"request_id": "id-1.0", "cluster": "gateway-x", "attempts": [{}, {}]}, {"msg": "no id"}],
    )
    assert (one.cluster, one.attempts) == ("gateway-x", 2)
    assert other.cluster == ""
