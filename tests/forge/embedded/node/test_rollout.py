"""Roll-outs: every step keeps the bounds, and the walk arrives."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.node import rollout
from forge.embedded.node.rollout import Bounds

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)


def deployment(replicas: int, surge: Any = "25%", unavailable: Any = "25%", **spec: Any) -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {
        "metadata": {"name": "web", "namespace": "ns", "uid": "d", "generation": 3},
        "spec": {
            "replicas": replicas,
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"x": 2}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            **spec,
        },
    }


def replica_set(
    name: str, size: int, available: int | None = None, present: int | None = None
) -> dict[str, Any]:
    ready = size if available is None else available
    there = size if present is None else present
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": f"2026-06-01T11:00:{len(name):02}Z"},
        "spec": {"replicas": size, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"x": name}}},
        "status": {"replicas": there, "readyReplicas": ready, "availableReplicas": ready},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(3, "25%", "25%", Bounds(3, 1, 0), id="surge up, unavailability down"),
        pytest.param(10, "25%", "25%", Bounds(10, 3, 2), id="percentages of more"),
        pytest.param(4, 2, 1, Bounds(4, 2, 1), id="numbers"),
        pytest.param(1, "0%", "10%", Bounds(1, 0, 1), id="never neither"),
        pytest.param(2, 0, 9, Bounds(2, 0, 2), id="not more unavailable than there are"),
    ],
)
def test_bounds(replicas: int, surge: Any, unavailable: Any, expected: Bounds) -> None:
    assert rollout.bounds(deployment(replicas, surge, unavailable)) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(
            replica_set("n", 0),
            [replica_set("o", 4)],
            {"n": 1, "o": 3},
            id="one more and one less to begin with",
        ),
        pytest.param(
            replica_set("n", 1), [replica_set("o", 4)], {"o": 2}, id="as many old ones less as are not needed"
        ),
        pytest.param(
            replica_set("n", 1, 0), [replica_set("o", 4)], {"o": 3}, id="or while the bounds allow it"
        ),
        pytest.param(
            replica_set("n", 1, 0),
            [replica_set("o", 3)],
            {"n": 2},
            id="no old one less while too few are available",
        ),
        pytest.param(replica_set("n", 1, 0), [replica_set("o", 4, 2)], {"o": 3}, id="sick old ones go first"),
        pytest.param(replica_set("n", 6), [], {"n": 4}, id="down to what is wanted"),
        pytest.param(replica_set("n", 4), [replica_set("o", 0)], {}, id="nothing when it is done"),
    ],
)
def test_one_step(new: dict[str, Any], old: list[dict[str, Any]], expected: dict[str, int]) -> None:
    assert rollout.sizes(deployment(4), new, old) == expected


@given(
    st.integers(0, 12),
    st.sampled_from([0, 1, 3, "25%", "50%", "100%"]),
    st.sampled_from([0, 1, 2, "25%", "100%"]),
    st.lists(st.integers(0, 6), min_size=0, max_size=3),
    st.integers(0, 2**32),
)
def test_every_walk_arrives_within_its_bounds(
    replicas: int, surge: Any, unavailable: Any, old_sizes: list[int], seed: int
) -> None:
    wanted, chance = deployment(replicas, surge, unavailable), random.Random(seed)
    limit = rollout.bounds(wanted)
    sizes = {"new": 0} | {f"old{i}": size for i, size in enumerate(old_sizes)}
    available = dict(sizes)
    start = sum(sizes.values())
    fewest = min(start, limit.replicas - limit.unavailable)
    for _ in range(300):
        sets = {name: replica_set(name, size, available[name], size) for name, size in sizes.items()}
        olds = [one for name, one in sets.items() if name != "new"]
        changes = rollout.sizes(wanted, sets["new"], olds)
        sizes |= changes
        available = {name: min(available[name], size) for name, size in sizes.items()}
        assert sum(sizes.values()) <= max(start, limit.replicas + limit.surge)
        assert sum(available.values()) >= fewest
        rising = [name for name, size in sizes.items() if available[name] < size]
        if rising:
            available[chance.choice(rising)] += 1
        fewest = max(fewest, min(sum(available.values()), limit.replicas - limit.unavailable))
        if not changes and not rising:
            break
    assert sizes == {"new": replicas} | {f"old{i}": 0 for i in range(len(old_sizes))}


def test_recreate_waits_for_the_last_old_pod() -> None:
    wanted = deployment(2, strategy={"type": "Recreate"})
    assert rollout.sizes(wanted, replica_set("n", 0), [replica_set("o", 2)]) == {"o": 0}
    assert rollout.sizes(wanted, replica_set("n", 0), [replica_set("o", 0, 0, present=1)]) == {}
    assert rollout.sizes(wanted, replica_set("n", 0), [replica_set("o", 0)]) == {"n": 2}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([4], {"s0": 8}, id="one set takes all"),
        pytest.param([3, 1], {"s0": 6, "s1": 2}, id="two sets take their shares"),
        pytest.param([4, 4], {}, id="nothing when there are enough"),
    ],
)
def test_a_paused_deployment_is_scaled_as_it_stands(sizes: list[int], expected: dict[str, int]) -> None:
    sets = [replica_set(f"s{i}", size) for i, size in enumerate(sizes)]
    assert rollout.sizes(deployment(8, paused=True), sets[0], sets[1:]) == expected


def condition(status: dict[str, Any], kind: str) -> tuple[str, str]:
    found = next(c for c in status["conditions"] if c["type"] == kind)
    return found["status"], found["reason"]


def test_the_status_is_honest_at_each_stage() -> None:
    wanted = deployment(2)
    begun = rollout.status(wanted, replica_set("n", 2, 0, 1), [replica_set("n", 2, 0, 1)], NOW)
    assert (begun["observedGeneration"], begun["updatedReplicas"], begun["unavailableReplicas"]) == (3, 1, 2)
    assert condition(begun, "Available") == ("False", "MinimumReplicasUnavailable")
    assert condition(begun, "Progressing") == ("True", "NewReplicaSetCreated")
    done = rollout.status(wanted | {"status": begun}, replica_set("n", 2), [replica_set("n", 2)], NOW)
    assert "unavailableReplicas" not in done
    assert condition(done, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(done, "Progressing") == ("True", "NewReplicaSetAvailable")
    again = rollout.status(
        wanted | {"status": done}, replica_set("n", 2), [replica_set("n", 2)], NOW + timedelta(hours=1)
    )
    assert again == done


def test_a_roll_out_without_progress_is_late_and_one_with_progress_is_not() -> None:
    wanted = deployment(2, progressDeadlineSeconds=5)
    one = [replica_set("n", 2, 0, 2)]
    begun = rollout.status(wanted, one[0], one, NOW)
    wanted["status"] = begun
    assert rollout.late_in_s(wanted, NOW) == 5
    late = rollout.status(wanted, one[0], one, NOW + timedelta(seconds=5))
    assert condition(late, "Progressing") == ("False", "ProgressDeadlineExceeded")
    moved = [replica_set("n", 2, 1, 2)]
    better = rollout.status(wanted | {"status": late}, moved[0], moved, NOW + timedelta(seconds=9))
    assert condition(better, "Progressing") == ("True", "ReplicaSetUpdated")


def test_the_history_beyond_the_limit_is_superfluous() -> None:
    olds = [replica_set(f"o{i}", size) for i, size in enumerate([0, 0, 1, 0])]
    for number, one in enumerate(olds):
        one["metadata"]["annotations"] = {rollout.REVISION: str(number)}
    found = rollout.superfluous(deployment(1, revisionHistoryLimit=2), olds)
    assert [one["metadata"]["name"] for one in found] == ["o0", "o1"]


def test_templates_differ_in_more_than_the_added_label() -> None:
    wanted = deployment(1)
    same = replica_set("s", 1)
    same["spec"]["template"] = {
        "metadata": {"labels": {"app": "web", rollout.HASH: "h"}, "creationTimestamp": None},
        "spec": {"x": 2},
    }
    assert rollout.current(wanted, [replica_set("n", 1), same]) is same
    assert rollout.template_hash({"a": 1}, 0) != rollout.template_hash({"a": 1}, 1)
