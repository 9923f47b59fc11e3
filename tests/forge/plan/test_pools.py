"""Clusters' pools and blocks are given once, kept, and share no address with anything else of the lab."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import UsageError
from forge.plan.allocate import Wanted, allocate, dynamic_range, is_settled, places
from forge.plan.values import Allocation


def wanted(*clusters: str, runtime: str = "docker", size: int = 20, subnet: str | None = None) -> Wanted:
    embedded = clusters if runtime == "embedded" else ()
    return Wanted("lab", runtime, True, ("web",), subnet, clusters, embedded, size)


def addresses(pool: str) -> set[IPv4Address]:
    first, last = map(IPv4Address, pool.split("-"))
    return {IPv4Address(n) for n in range(int(first), int(last) + 1)}


@pytest.mark.parametrize("runtime", ["docker", "embedded"])
def test_an_insertion_before_others_moves_nobody(runtime: str) -> None:
    first = allocate(wanted("b", "d", runtime=runtime), Allocation(), {})
    then = allocate(wanted("a", "b", "c", "d", runtime=runtime), first, {})
    assert {name: then.pools[name] for name in ("b", "d")} == first.pools
    assert {name: then.blocks[name] for name in first.blocks} == first.blocks
    assert is_settled(wanted("a", "b", "c", "d", runtime=runtime), then)


def test_a_pool_that_is_free_again_is_given_again() -> None:
    first = allocate(wanted("a", "b"), Allocation(), {})
    then = allocate(wanted("b", "c"), first, {})
    assert then.pools["c"] == first.pools["a"]


def test_another_size_gives_another_pool() -> None:
    first = allocate(wanted("a", size=20), Allocation(), {})
    assert not is_settled(wanted("a", size=30), first)
    assert len(addresses(allocate(wanted("a", size=30), first, {}).pools["a"])) == 30


@given(
    names=st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1),
    size=st.integers(1, 60),
    runtime=st.sampled_from(["docker", "embedded"]),
)
def test_no_address_is_given_twice(names: list[str], size: int, runtime: str) -> None:
    given_ = allocate(wanted(*names, runtime=runtime, size=size), Allocation(), {})
    subnet = IPv4Network(str(given_.subnet))
    pools = [addresses(pool) for pool in given_.pools.values()]
    assert len(set().union(*pools)) == size * len(names)
    assert all(a in subnet and a != subnet.broadcast_address for pool in pools for a in pool)
    assert not set(map(IPv4Address, given_.addresses.values())) & set().union(*pools)
    if runtime == "docker":
        nodes = IPv4Network(dynamic_range(str(subnet)))
        assert not any(a in nodes for pool in pools for a in pool)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1))
def test_an_embedded_cluster_has_its_own_block_for_all_it_needs(names: list[str]) -> None:
    given_ = allocate(wanted(*names, runtime="embedded"), Allocation(), {})
    blocks = [IPv4Network(b) for b in given_.blocks.values()]
    assert not any(a.overlaps(b) for a in blocks for b in blocks if a != b)
    for name in names:
        block, has = IPv4Network(given_.blocks[name]), places(given_.blocks[name])
        parts = [IPv4Network(has.services), IPv4Network(has.pods), IPv4Network(f"{has.api}/32")]
        assert all(part.subnet_of(block) for part in parts)
        assert not any(a.overlaps(b) for a in parts for b in parts if a is not b)
        assert not any(a in part for a in addresses(given_.pools[name]) for part in parts)


def test_too_small_a_subnet_is_said() -> None:
    with pytest.raises(UsageError) as raised:
        allocate(wanted("a", "b", "c", subnet="10.9.0.0/26"), Allocation(), {})
    assert raised.value.code == "FG0602"
    assert "cluster 'b'" in raised.value.what


def test_sixteen_embedded_clusters_are_one_too_many() -> None:
    with pytest.raises(UsageError, match="no block left"):
        allocate(wanted(*(f"c{n}" for n in range(16)), runtime="embedded", size=0), Allocation(), {})
