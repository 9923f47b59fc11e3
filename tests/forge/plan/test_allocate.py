"""Addresses are given once, kept, disjoint, and never where somebody else is."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import ForgeError
from forge.plan.allocate import Wanted, allocate, dynamic_range, is_settled
from forge.plan.values import Allocation


def wanted(
    *services: str, runtime: str = "docker", subnet: str | None = None, network: bool = True
) -> Wanted:
    return Wanted("lab", runtime, network, services, subnet)


def test_without_a_network_there_is_nothing_to_give() -> None:
    assert allocate(wanted(network=False), Allocation(), {}) == Allocation()


def test_the_same_name_finds_the_same_subnet_again() -> None:
    assert allocate(wanted(), Allocation(), {}) == allocate(wanted(), Allocation(), {})


def test_what_was_given_is_kept_when_others_come_before_it() -> None:
    first = allocate(wanted("b", "d"), Allocation(), {})
    then = allocate(wanted("a", "b", "c", "d"), first, {"0.0.0.0/0": "default route", "0.0.0.0/1": "tun0"})
    assert {name: then.addresses[name] for name in ("b", "d")} == first.addresses
    assert len(set(then.addresses.values())) == 4


def test_an_address_that_is_free_again_is_given_again() -> None:
    first = allocate(wanted("a", "b"), Allocation(), {})
    then = allocate(wanted("b", "c"), first, {})
    assert then.addresses["c"] == first.addresses["a"]


def test_a_subnet_in_use_is_passed_over() -> None:
    free = allocate(wanted(), Allocation(), {}).subnet
    assert free is not None
    moved = allocate(wanted(), Allocation(), {free: "network x"}).subnet
    assert moved is not None
    assert not IPv4Network(moved).overlaps(IPv4Network(free))


@pytest.mark.parametrize(
    ("want", "taken", "code", "why"),
    [
        pytest.param(wanted(subnet="10.0.0.0/24"), {"10.0.0.0/8": "route via eth0"}, "FG0601", "10.0.0.0/8 belongs to route via eth0", id="taken"),
        pytest.param(wanted(*"abcde", subnet="10.0.0.0/28"), {}, "FG0602", "room for 4 services", id="too small"),
        pytest.param(wanted(), {"10.64.0.0/10": "a VPN"}, "FG0601", "every candidate overlaps", id="no room anywhere"),
    ],
)  # fmt: skip
def test_what_cannot_be_given_is_said(want: Wanted, taken: dict[str, str], code: str, why: str) -> None:
    with pytest.raises(ForgeError) as raised:
        allocate(want, Allocation(), taken)
    assert raised.value.code == code
    assert why in raised.value.why


def test_a_fixed_subnet_that_is_already_ours_is_not_taken() -> None:
    mine = Allocation("10.0.0.0/24", {})
    assert (
        allocate(wanted(subnet="10.0.0.0/24"), mine, {"10.0.0.0/24": "network lab-net"}).subnet
        == "10.0.0.0/24"
    )


def test_a_changed_subnet_drops_the_old_addresses() -> None:
    before = allocate(wanted("a"), Allocation(), {})
    after = allocate(wanted("a", subnet="10.9.0.0/24"), before, {})
    assert IPv4Address(after.addresses["a"]) in IPv4Network("10.9.0.0/24")


@given(
    st.sets(st.from_regex(r"[a-z]{1,8}", fullmatch=True), max_size=60),
    st.sampled_from(["docker", "embedded"]),
)
def test_addresses_are_distinct_and_outside_what_the_engine_gives(names: set[str], runtime: str) -> None:
    given_ = allocate(wanted(*sorted(names), runtime=runtime), Allocation(), {})
    subnet = IPv4Network(str(given_.subnet))
    addresses = [IPv4Address(a) for a in given_.addresses.values()]
    assert len(set(addresses)) == len(names)
    assert all(a in subnet and a not in (subnet[0], subnet[-1]) for a in addresses)
    if runtime == "docker":
        assert all(a not in IPv4Network(dynamic_range(str(subnet))) for a in addresses)


def test_two_hundred_services_fit() -> None:
    given_ = allocate(wanted(*(f"s{i}" for i in range(200))), Allocation(), {})
    assert len(given_.addresses) == 200


@pytest.mark.parametrize(
    ("want", "settled"),
    [
        pytest.param(wanted("a"), True, id="all there"),
        pytest.param(wanted("a", "b"), False, id="one is new"),
        pytest.param(wanted("a", subnet="10.1.0.0/24"), False, id="another subnet is asked"),
        pytest.param(wanted("a", network=False), True, id="no network is asked"),
    ],
)
def test_is_settled(want: Wanted, settled: bool) -> None:
    assert is_settled(want, Allocation("10.0.0.0/24", {"a": "10.0.0.64"})) is settled
