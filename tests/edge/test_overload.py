"""The first ceiling that is reached closes the gate, in the metric's words."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from edge.config.model import Runtime
from edge.overload import Ceilings, Load, ceilings, measure, verdict

MOST = Ceilings(memory=100, descriptors=10, connections=5)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        pytest.param(Load(100, 10, 5), None, id="all at their ceiling"),
        pytest.param(Load(101, 99, 99), "memory", id="memory first"),
        pytest.param(Load(1, 11, 1), "file_descriptors", id="descriptors"),
        pytest.param(Load(1, 1, 6), "global_connections", id="connections"),
    ],
)
def test_verdicts(load: Load, reason: str | None) -> None:
    assert verdict(load, MOST) == reason


def test_without_ceilings_nothing_closes() -> None:
    assert verdict(Load(1 << 60, 1 << 30, 1 << 30), Ceilings(None, None, None)) is None


def test_descriptors_keep_a_reserve() -> None:
    assert ceilings(Runtime(max_open_files=1000)).descriptors == 950
    assert ceilings(Runtime(max_open_files=64)).descriptors == 32
    assert ceilings(Runtime(max_open_files=64, shed_on_fd_pressure=False)).descriptors is None


def test_the_process_can_be_measured() -> None:
    load = measure(7)
    assert load.memory > 1 << 20
    assert load.descriptors > 2
    with contextlib.ExitStack() as opened:
        for _ in range(20):
            opened.enter_context(Path("/dev/null").open())
        assert measure(7).descriptors >= load.descriptors + 20
    assert load.connections == 7
