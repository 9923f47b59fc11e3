"""Pod addresses are given in turn, never twice at once, and never the node's own."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.node.addresses import next_address, node_address

SMALL = "127.9.0.0/29"


@pytest.mark.parametrize(
    ("taken", "last", "expected"),
    [
        pytest.param((), "", "127.9.0.2", id="the first after the node's own"),
        pytest.param(("127.9.0.2",), "127.9.0.2", "127.9.0.3", id="the next"),
        pytest.param((), "127.9.0.4", "127.9.0.5", id="not one that was let go just now"),
        pytest.param((), "127.9.0.6", "127.9.0.2", id="from the beginning after the last"),
        pytest.param(
            tuple(f"127.9.0.{n}" for n in range(2, 7)), "127.9.0.3", None, id="none when all are taken"
        ),
        pytest.param((), "10.0.0.1", "127.9.0.2", id="from the beginning after one of another range"),
    ],
)
def test_the_next_address(taken: tuple[str, ...], last: str, expected: str | None) -> None:
    assert next_address(SMALL, taken, last) == expected


@given(st.integers(1, 40))
def test_as_many_addresses_as_there_is_room_for(count: int) -> None:
    given_: set[str] = set()
    last = ""
    for _ in range(count):
        address = next_address("127.9.0.0/28", given_, last)
        assert address not in given_
        assert address != node_address("127.9.0.0/28")
        if address is None:
            assert len(given_) == 13
            return
        assert ipaddress.ip_address(address) in ipaddress.ip_network("127.9.0.0/28")
        given_.add(address)
        last = address


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param("127.0.0.1", "127.9.0.1", id="loopback"),
        pytest.param("0.0.0.0", "127.9.0.1", id="a wildcard"),
        pytest.param("lab.test", "127.9.0.1", id="a name"),
        pytest.param("172.18.0.2", "172.18.0.2", id="where others reach it"),
    ],
)
def test_a_node_has_the_address_where_it_is_reached(host: str, expected: str) -> None:
    assert node_address("127.9.0.0/24", host) == expected
