"""The fake fleet of clusters keeps the contract of the real ones, so that tests on it mean something."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from forge.errors import OperationFailed
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Phase
from tests.kit.clusters_contract import EAST, ClustersContract, Make
from tests.kit.fake_clusters import FakeClusters, Fleet
from tests.kit.fake_host import Killed


class TestFakeClusters(ClustersContract):
    @pytest.fixture
    def fleet(self) -> Fleet:
        return Fleet()

    @pytest.fixture
    def clusters(self, fleet: Fleet, tmp_path: Path) -> FakeClusters:
        return FakeClusters(fleet, tmp_path)

    @pytest.fixture
    def make(self) -> Make:
        def make(name: str, **fields: Any) -> ClusterResource:
            return ClusterResource(name, f"forge-{name}", fields.pop("driver", Driver.KIND), **fields)

        return make

    def test_a_creation_fails_as_often_as_it_is_told_to(self, create: Any, fleet: Fleet, make: Make) -> None:
        fleet.fail["create_cluster east"] = [OperationFailed("FG0703", "it failed")]
        with pytest.raises(OperationFailed, match="it failed"):
            create(make("east"))
        create(make("east"))
        assert fleet.calls == ["create_cluster east"] * 2

    def test_a_creation_that_fails_half_way_leaves_nothing(
        self, create: Any, fleet: Fleet, make: Make
    ) -> None:
        def broken(call: str) -> None:
            raise OperationFailed("FG0703", call)

        fleet.halfway = broken
        with pytest.raises(OperationFailed):
            create(make("east"))
        assert fleet.inventory() == set()

    def test_one_that_is_killed_half_way_leaves_a_broken_one(
        self, create: Any, look: Any, fleet: Fleet, make: Make
    ) -> None:
        def killed(call: str) -> None:
            raise Killed(call)

        fleet.halfway = killed
        with pytest.raises(Killed):
            create(make("east"))
        assert look(make("east"))[EAST].phase is Phase.BROKEN

    def test_a_cluster_whose_api_is_down_is_stopped_until_started(
        self, create: Any, look: Any, clusters: FakeClusters, fleet: Fleet, make: Make
    ) -> None:
        create(make("east"))
        fleet.clusters["forge-east"].answers = False
        found = look(make("east"))[EAST]
        assert (found.phase, found.detail) == (Phase.STOPPED, "its API does not answer")
        clusters.start(found, make("east"), print, threading.Event())
        assert look(make("east"))[EAST].phase is Phase.RUNNING
