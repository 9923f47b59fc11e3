"""A port is held when the kernel would refuse it, and its holder has a name; routes are read as networks."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from forge.host import survey

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
tun0\t0000400A\t00000000\t0001\t0\t0\t0\t0000C0FF\t0\t0\t0
tun0\t0501400A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""

ROUTES6 = (
    "fd000000000000000000000000000000 08 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001 wg0\n"
    "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n"
    "fd110000000000000000000000000000 10 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n"
)


@contextmanager
def held(address: str, *, v6only: bool = True) -> Iterator[int]:
    """A listener on a free port of address; gives the port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as server:
        if family == socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(v6only))
        try:
            server.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no address {address}")
        server.listen()
        yield server.getsockname()[1]


def test_ipv4_routes_are_networks_without_defaults_and_hosts() -> None:
    assert survey.ipv4_routes(ROUTES) == {
        "172.17.0.0/16": "a route of this host, eth0",
        "10.64.0.0/10": "a route of this host, tun0",
    }


def test_ipv6_routes_leave_out_link_local_and_rejected_ones() -> None:
    assert survey.ipv6_routes(ROUTES6) == {"fd00::/8": "a route of this host, wg0"}


def test_this_hosts_routes_can_be_read() -> None:
    assert all("/" in cidr for cidr in survey.host_routes())


@pytest.mark.parametrize(
    ("holder", "wanted"),
    [
        pytest.param("127.0.0.1", "127.0.0.1", id="the same address"),
        pytest.param("127.0.0.1", "0.0.0.0", id="a wildcard over one address"),
        pytest.param("0.0.0.0", "127.0.0.1", id="one address under a wildcard"),
        pytest.param("0.0.0.0", "127.9.9.9", id="any loopback address under a wildcard"),
        pytest.param("::1", "::1", id="the same IPv6 address"),
        pytest.param("::", "::1", id="one IPv6 address under a wildcard"),
    ],
)
def test_a_held_port_is_named_with_its_process(holder: str, wanted: str) -> None:
    with held(holder) as port:
        found = survey.port_holder(wanted, port)
    assert found is not None
    assert (found.bind, found.port) == (wanted, port)
    assert found.holder == f"process {os.getpid()} ({survey.command_name(os.getpid())})"


def test_an_ipv6_wildcard_that_takes_ipv4_too_holds_an_ipv4_address() -> None:
    with held("::", v6only=False) as port:
        found = survey.port_holder("127.0.0.1", port)
    assert found is not None
    assert f"process {os.getpid()} " in found.holder


@pytest.mark.parametrize(
    ("holder", "wanted"),
    [
        pytest.param("127.0.0.1", "127.0.0.2", id="another loopback address"),
        pytest.param("127.0.0.1", "::1", id="the other family"),
        pytest.param("127.0.0.1", "192.0.2.7", id="an address this machine does not have"),
    ],
)
def test_a_port_on_another_address_is_free(holder: str, wanted: str) -> None:
    with held(holder) as port:
        assert survey.port_holder(wanted, port) is None


def test_a_port_nobody_listens_on_is_free_though_connections_linger() -> None:
    with held("127.0.0.1") as port, socket.create_connection(("127.0.0.1", port)):
        pass
    assert survey.port_holder("127.0.0.1", port) is None


def test_port_zero_is_never_held() -> None:
    assert survey.port_holder("127.0.0.1", 0) is None


def test_listening_fails_with_the_kernels_own_reason() -> None:
    assert survey.listen_error("192.0.2.7", 8080) == errno.EADDRNOTAVAIL
