"""Addresses of load balancers: who gets which, as MetalLB has it, and never two Services one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.lb import pools
from forge.embedded.lb.pools import Given, Pool

HOME = Pool("default", (pools.parse_range("127.88.0.10-127.88.0.11"),), priority=9)
WEST = Pool("west", (pools.parse_range("127.88.1.0/30"),), automatic=False)
OURS = Pool("ours", (pools.parse_range("127.88.2.1-127.88.2.1"),), namespaces=frozenset({"ours"}))
ALL = (HOME, WEST, OURS)


def service(
    name: str = "web",
    *,
    namespace: str = "default",
    has: str = "",
    pool: str = "",
    address: str = "",
    **spec: Any,
) -> dict[str, Any]:
    wanted = {"metallb.io/address-pool": pool, "metallb.universe.tf/loadBalancerIPs": address}
    ingress = [{"ip": has}] if has else []
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {k: v for k, v in wanted.items() if v},
        },
        "spec": {"type": "LoadBalancer", **spec},
        "status": {"loadBalancer": {"ingress": ingress}},
    }


@pytest.mark.parametrize(
    ("asks", "taken", "expected"),
    [
        pytest.param(service(), {}, Given("127.88.0.10", "default"), id="the first free address"),
        pytest.param(
            service(),
            {"127.88.0.10": "default/x"},
            Given("127.88.0.11", "default"),
            id="the next free address",
        ),
        pytest.param(
            service(),
            {"127.88.0.10": "default/x", "127.88.0.11": "default/y"},
            Given(why="no available IPs"),
            id="nothing when the pool is full, and never a pool that is not automatic",
        ),
        pytest.param(service(pool="west"), {}, Given("127.88.1.0", "west"), id="from the pool it names"),
        pytest.param(
            service(pool="nope"), {}, Given(why='unknown pool "nope"'), id="not from a pool that is none"
        ),
        pytest.param(
            service(address="127.88.1.2"), {}, Given("127.88.1.2", "west"), id="the very address it asks for"
        ),
        pytest.param(
            service(loadBalancerIP="127.88.0.11"),
            {},
            Given("127.88.0.11", "default"),
            id="asked for in its spec",
        ),
        pytest.param(
            service(address="127.88.1.2"),
            {"127.88.1.2": "default/x"},
            Given(why='can\'t change sharing key for "default/web", address also in use by default/x'),
            id="not an address that another Service has",
        ),
        pytest.param(
            service(address="10.0.0.1"),
            {},
            Given(why='"10.0.0.1" is not allowed in config'),
            id="not one of no pool",
        ),
        pytest.param(
            service(has="127.88.0.11"),
            {"127.88.0.11": "default/web"},
            Given("127.88.0.11", "default"),
            id="what it had",
        ),
        pytest.param(
            service(has="127.99.0.1"),
            {"127.99.0.1": "default/web"},
            Given("127.88.0.10", "default"),
            id="another one once its own is of no pool any more",
        ),
        pytest.param(
            service(namespace="ours"),
            {},
            Given("127.88.2.1", "ours"),
            id="from the pool of its namespace first",
        ),
    ],
)
def test_the_address_of_a_service_is(asks: dict[str, Any], taken: dict[str, str], expected: Given) -> None:
    assert pools.choose(asks, ALL, taken) == expected


@given(st.lists(st.sampled_from(["", "default", "west"]), max_size=12))
def test_no_two_services_ever_share_an_address(named: list[str]) -> None:
    taken: dict[str, str] = {}
    for index, pool in enumerate(named):
        found = pools.choose(service(f"s{index}", pool=pool), ALL, taken)
        assert found.address not in taken
        assert bool(found.address) != bool(found.why)
        if found.address:
            taken[found.address] = f"default/s{index}"


def test_pools_of_objects_are_advertised_by_name_label_or_all() -> None:
    def pool(name: str, **spec: Any) -> dict[str, Any]:
        meta = {"name": name, "namespace": "metallb-system", "labels": {"zone": name}}
        return {"metadata": meta, "spec": {"addresses": ["127.88.3.1-127.88.3.2", "nonsense"], **spec}}

    def says(**spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": "l2", "namespace": "metallb-system"}, "spec": spec}

    def advertised(*advertisements: dict[str, Any]) -> list[str]:
        found = pools.of_objects([pool("a"), pool("b", autoAssign=False)], advertisements)
        return [p.name for p in found if p.advertised]

    assert advertised() == []
    assert advertised(says()) == ["a", "b"]
    assert advertised(says(ipAddressPools=["b"])) == ["b"]
    assert advertised(says(ipAddressPoolSelectors=[{"matchLabels": {"zone": "a"}}])) == ["a"]
    [one] = pools.of_objects([pool("b", autoAssign=False)], [says()])
    assert (one.automatic, one.ranges) == (False, (pools.parse_range("127.88.3.1-127.88.3.2"),))


@pytest.mark.parametrize("text", ["127.0.0.9-127.0.0.1", "127.0.0.1-", "300.1.1.1/8", "a"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        pools.parse_pool(text)
