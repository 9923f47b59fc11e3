"""The three laws, for every CRDT: any order, any repetition and any grouping of merges give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.crdt.gcounter import GCounter
from grid.crdt.lww import Lww
from grid.crdt.orset import Context, OrSet
from grid.crdt.snapshot import Capability, Share, Snapshot
from tests.kit.crdts import gcounters, histories, lwws, shares, snapshots

KINDS: dict[str, st.SearchStrategy[list[Any]]] = {
    "lww": lwws(),
    "gcounter": gcounters(),
    "orset": histories(),
    "share": shares(),
    "snapshot": snapshots(),
}


@pytest.fixture(params=sorted(KINDS))
def replicas(request: pytest.FixtureRequest) -> st.SearchStrategy[list[Any]]:
    """Three values that one history of writes and merges has left at three sites."""
    return KINDS[request.param]


def empty() -> OrSet[str]:
    return OrSet()


def nothing() -> Snapshot[str]:
    return Snapshot()


def share() -> Share[str]:
    return Share()


def check(strategy: st.SearchStrategy[list[Any]], law: Callable[[Any, Any, Any], bool]) -> None:
    @given(strategy)
    def holds(values: list[Any]) -> None:
        assert law(*values)

    holds()


def test_merge_is_commutative(replicas: st.SearchStrategy[list[Any]]) -> None:
    check(replicas, lambda a, b, _: a.merge(b) == b.merge(a))


def test_merge_is_associative(replicas: st.SearchStrategy[list[Any]]) -> None:
    check(replicas, lambda a, b, c: a.merge(b).merge(c) == a.merge(b.merge(c)))


def test_merge_is_idempotent(replicas: st.SearchStrategy[list[Any]]) -> None:
    check(replicas, lambda a, b, _: a.merge(b).merge(b) == a.merge(b) and a.merge(a) == a)


def test_an_add_beats_a_remove_that_did_not_know_it() -> None:
    east = empty().add("llama", "east")
    west = east.remove("llama")
    again = east.add("llama", "east")
    assert west.merge(again).items == {"llama"}


def test_a_remove_is_not_undone_by_the_state_it_knew() -> None:
    east = empty().add("llama", "east")
    west = east.remove("llama")
    assert west.merge(east).items == frozenset()
    assert east.merge(west).merge(east).items == frozenset()


def test_a_writer_that_lost_its_memory_makes_no_dot_twice() -> None:
    before = empty().add("llama", "east").add("qwen", "east").remove("llama")
    reborn = empty().add("mistral", "east", floor=2)
    assert before.merge(reborn).items == {"qwen", "mistral"}


def test_the_context_stays_as_small_as_one_number_an_origin() -> None:
    known = empty()
    for n in range(1000):
        known = known.add(f"m{n}", "east").remove(f"m{n}")
    assert known == OrSet({}, Context({"east": 1000}))


def test_a_removed_provider_does_not_come_back_with_an_older_copy() -> None:
    old = nothing().with_share("net", "west", share().put("sim", "up", 3, "west"))
    gone = old.with_share("net", "west", share().put("sim", None, 4, "west"))
    assert gone.merge(old).share("net", "west").live == {}
    back = gone.with_share("net", "west", share().put("sim", "again", 5, "west"))
    assert back.merge(old).share("net", "west").live == {"sim": "again"}


def test_networks_and_origins_never_touch_each_other() -> None:
    one = nothing().with_share("a", "west", share().put("sim", "x", 9, "west"))
    two = nothing().with_share("b", "west", share().put("sim", None, 10, "west"))
    assert one.merge(two).share("a", "west").live == {"sim": "x"}


@given(snapshots())
def test_a_delta_brings_the_other_side_up_to_date(values: list[Snapshot[str]]) -> None:
    full, known, _ = values
    assert known.merge(full.delta(known)) == known.merge(full)
    assert full.delta(full) == Snapshot()


def test_a_counter_saturates_and_is_bounded() -> None:
    liar = GCounter({"evil": 2**200})
    merged = GCounter({"east": 5}).merge(liar)
    assert merged.value == 2**63 - 1
    crowd = GCounter({f"s{n:04}": 1 for n in range(1000)})
    assert len(GCounter().merge(crowd).slots) == 256
    with pytest.raises(ValueError, match="shrink"):
        GCounter().add("east", -1)


def test_of_equal_revisions_the_higher_name_stays() -> None:
    assert Lww("a", 1, "east").merge(Lww("b", 1, "west")).value == "b"


def test_what_an_origin_counts_itself() -> None:
    counter = GCounter().add("east", 2).add("west", 3)
    assert counter.only("east").slots == {"east": 2}
    assert counter.value == 5


def test_origins_that_are_gone_for_good_are_forgotten() -> None:
    full = nothing().with_share("n", "east", Share()).with_share("n", "west", Share())
    assert set(full.without(["west"]).shares) == {("n", "east")}
    start: OrSet[Capability] = OrSet()
    known = start.add(Capability("model", "m"), "west").add(Capability("model", "n"), "east")
    assert known.forget({"west"}).items == {Capability("model", "n")}
