"""What a node's next run should know outlives it, and two writers undo nothing of each other's."""

from __future__ import annotations

import pytest

from grid.kube.port import CONFIG_MAP, KubeFault
from grid.reconcile.remembered import AHEAD, EVERY_S, Remembered, memory_name
from grid.swim.messages import Lane
from grid.swim.node import NOTHING, Memory
from tests.kit.fake_kube import FakeKube

NOW = 1000.0


def store(kube: FakeKube) -> Remembered:
    return Remembered(kube, "grid-system", "grid-mesh-production", ("production", "uid"))


def memory(incarnation: int = 3, state: int = 7, *peers: str) -> Memory:
    return Memory(incarnation, {Lane.STATE: state}, peers or ("10.0.0.1:7946",))


def writes(kube: FakeKube) -> int:
    return sum(verb in {"create", "replace"} for verb, _, _ in kube.calls)


async def test_what_is_kept_is_read_again_with_counts_yet_to_be_used() -> None:
    kube = FakeKube()
    assert await store(kube).load() == NOTHING
    first = store(kube)
    await first.load()
    await first.keep(memory(), NOW)
    assert await store(kube).load() == memory(3, 7 + AHEAD)
    document = kube.shown(CONFIG_MAP, "grid-mesh-production", "grid-system")
    assert document is not None
    assert document["metadata"]["ownerReferences"][0]["uid"] == "uid"
    assert "app.kubernetes.io/managed-by" not in document["metadata"]["labels"], "it is no overlay"


async def test_a_quiet_grid_writes_nothing_and_a_busy_one_seldom() -> None:
    kube = FakeKube()
    kept = store(kube)
    await kept.load()
    for second in range(100):
        await kept.keep(memory(3, 7 + second), NOW + second)
    assert writes(kube) == 1
    for second in range(100):
        await kept.keep(memory(3, 107, f"10.0.0.{second}:7946"), NOW + 100 + second)
    assert writes(kube) <= 2 + 100 / EVERY_S


async def test_before_its_counts_are_used_up_more_are_taken() -> None:
    kube = FakeKube()
    kept = store(kube)
    await kept.load()
    for step in range(0, 10 * AHEAD, 50):
        await kept.keep(memory(3, step), NOW + step)
        assert (await store(kube).load()).revisions[Lane.STATE] > step


async def test_of_two_writers_the_higher_counts_stand() -> None:
    kube = FakeKube()
    one, other = store(kube), store(kube)
    await one.load()
    await other.load()
    await one.keep(memory(9, 5000), NOW)
    await other.keep(memory(4, 7, "10.0.0.2:7946"), NOW)
    found = await store(kube).load()
    assert (found.incarnation, found.revisions[Lane.STATE]) == (9, 5000 + AHEAD)
    assert found.peers == ("10.0.0.2:7946",)


async def test_what_is_none_of_ours_is_nothing_and_is_written_over() -> None:
    kube = FakeKube()
    metadata = {"name": "grid-mesh-production", "namespace": "grid-system"}
    await kube.create(CONFIG_MAP, {"metadata": metadata, "data": {"memory.json": "{"}})
    kept = store(kube)
    assert await kept.load() == NOTHING
    await kept.keep(memory(), NOW)
    assert (await store(kube).load()).incarnation == 3


async def test_a_fault_is_raised_and_tried_again() -> None:
    kube = FakeKube()
    kept = store(kube)
    await kept.load()
    kube.faults.append(KubeFault(500, "InternalError"))
    with pytest.raises(KubeFault):
        await kept.keep(memory(), NOW)
    await kept.keep(memory(), NOW + 1)
    assert (await store(kube).load()).incarnation == 3


def test_names_are_bounded_and_stay_apart() -> None:
    long = "n" * 200
    assert memory_name("production") == "grid-mesh-production"
    assert len(memory_name(long)) <= 63
    assert memory_name(long) != memory_name(long + "n")
