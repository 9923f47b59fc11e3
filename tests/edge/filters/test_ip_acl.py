"""Addresses are let in by networks, and what is not an address is not let in."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from edge.filters.ip_acl import IpAcl
from edge.wire.ports import Peer
from tests.kit.filter_bench import Bench, status_of


@pytest.mark.parametrize(
    ("options", "address", "status"),
    [
        pytest.param({"allow": ["10.0.0.0/8"]}, "10.1.2.3", None, id="inside"),
        pytest.param({"allow": ["10.0.0.0/8"]}, "11.1.2.3", 403, id="outside"),
        pytest.param(
            {"allow": ["10.0.0.0/8"], "deny": ["0.0.0.0/0"]}, "10.1.2.3", None, id="allowed among denied"
        ),
        pytest.param({"deny": ["10.0.0.0/8"]}, "10.1.2.3", 403, id="denied"),
        pytest.param({"deny": ["10.0.0.0/8"]}, "11.1.2.3", None, id="not denied"),
        pytest.param({"deny": ["10.0.0.0/8"]}, "::ffff:10.1.2.3", 403, id="denied behind an IPv6 mapping"),
        pytest.param({"allow": ["2001:db8::/32"]}, "2001:db8::1", None, id="IPv6 inside"),
        pytest.param({"allow": ["0.0.0.0/0"]}, "2001:db8::1", 403, id="IPv6 is not in an IPv4 network"),
        pytest.param({"allow": ["0.0.0.0/0"]}, "", 403, id="no address with an allow list"),
        pytest.param({"deny": ["10.0.0.0/8"]}, "", 403, id="no address with a deny list"),
    ],
)
def test_who_gets_in(options: dict[str, list[str]], address: str, status: int | None) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(IpAcl, **options), peer=Peer(address))
    assert status_of(exchange.on_head()) == status


@pytest.mark.parametrize("options", [{}, {"allow": ["10.0.0.1/8"]}, {"allow": ["everybody"]}])
def test_what_is_no_list(options: dict[str, list[str]]) -> None:
    with pytest.raises(ValidationError):
        Bench().build(IpAcl, **options)
