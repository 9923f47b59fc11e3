"""What every Clusters keeps, by the words of forge/plan/lab_ports.py: one class of tests for all of them.

A test module subclasses ClustersContract and gives fixtures:

    clusters      the Clusters, where it owns nothing
    owner         whose things are made;  other_owner: somebody else
    make          (name, **fields of ClusterResource) -> ClusterResource that can be made here; two
                  calls for a name give the same full_name

Everything is left as it was found: `clean` removes what a test made.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from forge.errors import ForgeError, Interrupted, NotOurs, OperationFailed
from forge.plan.lab_ports import Access, Clusters
from forge.plan.lab_resources import ClusterResource
from forge.plan.values import Key, Observed, Owner, Phase, Recorded, RecordPhase

EAST, WEST = Key("cluster", "east"), Key("cluster", "west")
FINGERPRINT = "0123456789abcdef0123456789abcdef"

Make = Callable[..., ClusterResource]


def silent(_: str) -> None:
    """A Progress that tells nobody."""


def recorded(*made: ClusterResource) -> dict[Key, Recorded]:
    """What the state file says once they were made."""
    keys = {Key("cluster", one.name): one for one in made}
    return {key: Recorded(key, RecordPhase.CREATED, name=one.full_name) for key, one in keys.items()}


class ClustersContract:
    @pytest.fixture
    def owner(self) -> Owner:
        return Owner("lab", "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f")

    @pytest.fixture
    def other_owner(self) -> Owner:
        return Owner("other", "e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1")

    @pytest.fixture(autouse=True)
    def clean(self, clusters: Clusters, make: Make) -> Iterator[None]:
        yield
        wanted = {EAST: make("east"), WEST: make("west")}
        everybody = Owner("", "")
        for key, found in clusters.observe(everybody, wanted, recorded(*wanted.values())).items():
            clusters.remove(found, wanted[key].full_name, threading.Event())

    @pytest.fixture
    def create(self, clusters: Clusters, owner: Owner) -> Callable[..., str]:
        def create(wanted: ClusterResource, by: Owner = owner, **more: Any) -> str:
            cancel = more.get("cancel", threading.Event())
            key = Key("cluster", wanted.name)
            return clusters.create(key, wanted, by, FINGERPRINT, more.get("progress", silent), cancel)

        return create

    @pytest.fixture
    def look(self, clusters: Clusters, owner: Owner) -> Callable[..., Mapping[Key, Observed]]:
        def look(*made: ClusterResource) -> Mapping[Key, Observed]:
            wanted = {Key("cluster", one.name): one for one in made}
            return clusters.observe(owner, wanted, recorded(*made))

        return look

    def test_what_was_never_made_is_not_seen(self, look: Any, make: Make) -> None:
        assert look(make("east")) == {}

    def test_a_made_one_runs_is_known_as_ours_and_can_be_reached(
        self, create: Any, look: Any, clusters: Clusters, make: Make, owner: Owner
    ) -> None:
        identity = create(make("east"))
        found = look(make("east"))[EAST]
        assert (found.owner, found.fingerprint, found.phase) == (owner, FINGERPRINT, Phase.RUNNING)
        assert found.id == identity != ""
        only_recorded = clusters.observe(owner, {}, recorded(make("east")))
        assert only_recorded[EAST].owner == owner
        self.is_private(clusters.access("east"))

    def is_private(self, access: Access) -> None:
        """Its access file is its own, whole, and nobody else's to read."""
        assert stat.S_IMODE(access.kubeconfig.stat().st_mode) == 0o600
        assert access.server.startswith("https://")
        assert access.network_server.startswith("https://")
        text = access.kubeconfig.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["current-context"] == access.context

    def test_two_are_made_at_once_and_differ(self, create: Any, look: Any, make: Make) -> None:
        with ThreadPoolExecutor(2) as both:
            ids = list(both.map(create, [make("east"), make("west")]))
        found = look(make("east"), make("west"))
        assert [found[EAST].id, found[WEST].id] == ids
        assert ids[0] != ids[1]

    def test_a_stopped_one_is_started_again_as_it_was_or_removed(
        self, create: Any, look: Any, clusters: Clusters, make: Make
    ) -> None:
        wanted = make("east")
        identity = create(wanted)
        clusters.stop(EAST, wanted.full_name)
        stopped = look(wanted)[EAST]
        assert (stopped.phase, stopped.fingerprint) == (Phase.STOPPED, FINGERPRINT)
        clusters.start(stopped, wanted, silent, threading.Event())
        running = look(wanted)[EAST]
        assert (running.phase, running.id) == (Phase.RUNNING, identity)
        clusters.stop(EAST, wanted.full_name)
        clusters.remove(look(wanted)[EAST], "", threading.Event())
        assert look(wanted) == {}

    def test_removing_leaves_nothing_and_may_be_done_twice(
        self, create: Any, look: Any, clusters: Clusters, make: Make
    ) -> None:
        wanted = make("east")
        create(wanted)
        file = clusters.access("east").kubeconfig
        found = look(wanted)[EAST]
        clusters.remove(found, wanted.full_name, threading.Event())
        clusters.remove(found, wanted.full_name, threading.Event())
        assert look(wanted) == {}
        assert not file.exists()
        with pytest.raises(OperationFailed):
            clusters.access("east")

    def test_one_of_ours_gives_way_to_a_new_one(self, create: Any, look: Any, make: Make) -> None:
        before = create(make("east"))
        after = create(make("east"))
        assert look(make("east"))[EAST].id == after != before

    def test_anothers_is_seen_as_anothers_and_left_alone(
        self, create: Any, look: Any, make: Make, other_owner: Owner
    ) -> None:
        identity = create(make("east"), other_owner)
        assert look(make("east"))[EAST].owner == other_owner
        with pytest.raises(NotOurs) as refused:
            create(make("east"))
        assert refused.value.changed is False
        assert look(make("east"))[EAST].id == identity

    def test_a_cancelled_creation_leaves_nothing(self, create: Any, look: Any, make: Make) -> None:
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(Interrupted):
            create(make("east"), cancel=cancel)
        assert look(make("east")) == {}

    def test_access_to_one_that_does_not_stand_is_refused(self, clusters: Clusters) -> None:
        with pytest.raises(ForgeError):
            clusters.access("nowhere")
