"""Two listeners never share a port of this machine, whatever their addresses are called."""

from __future__ import annotations

import itertools

import pytest

from tests.forge.spec.reading import told


def published(*binds: str | None) -> list[str]:
    """What is told of one service a bind address, all on port 80."""
    text = "  services:\n"
    for index, bind in enumerate(binds):
        address = f'bindAddress: "{bind}", ' if bind else ""
        text += f"    - {{name: s{index}, image: x, ports: [{{{address}container: 1, host: 80}}]}}\n"
    return told(text)


MEET = [
    (None, None),
    (None, "127.0.0.1"),
    (None, "0.0.0.0"),
    (None, "::1"),
    (None, "::"),
    ("0.0.0.0", "127.0.0.1"),
    ("0.0.0.0", "0.0.0.0"),
    ("0.0.0.0", "::"),
    ("::", "::1"),
    ("::", "127.0.0.1"),
    ("127.0.0.1", "127.0.0.1"),
    ("::1", "0:0:0:0:0:0:0:1"),
]
APART = [("127.0.0.1", "127.0.0.2"), ("127.0.0.1", "::1"), ("0.0.0.0", "::1")]


@pytest.mark.parametrize(("one", "other"), [*MEET, *((b, a) for a, b in MEET)])
def test_these_meet(one: str | None, other: str | None) -> None:
    (line,) = published(one, other)
    assert line.startswith("FG0120 8:")
    assert line.endswith(f'is also taken by "s0", as {one or "*"}:80 in line 7')


@pytest.mark.parametrize(("one", "other"), [*APART, *((b, a) for a, b in APART)])
def test_these_do_not(one: str | None, other: str | None) -> None:
    assert published(one, other) == []


def test_each_further_listener_is_told() -> None:
    assert len(published("127.0.0.1", "127.0.0.1", "127.0.0.1")) == 2


def test_a_wildcard_behind_many_addresses_is_told_once() -> None:
    assert len(published("127.0.0.1", "127.0.0.2", None)) == 1


def test_one_service_may_not_publish_a_port_twice() -> None:
    text = "  services: [{name: a, image: x, ports: [{host: 80, container: 1}, {host: 80, container: 2}]}]\n"
    assert told(text) == ["FG0120 6:75 port *:80 is also taken by this service, as *:80 in line 6"]


def test_other_ports_do_not_meet() -> None:
    text = "  services: [{name: a, image: x, ports: [{host: 80, container: 1}, {host: 81, container: 1}]}]\n"
    assert told(text) == []


def test_a_host_service_listens_where_it_is_checked() -> None:
    host = "    - {name: a, image: x, network: host, healthCheck: {type: tcp, port: 80}}\n"
    other = "    - {name: b, image: x, ports: [{host: 80, container: 1}]}\n"
    assert [line[:15] for line in told(f"  services:\n{host}{other}")] == ["warning FG0120 "]
    assert [line[:15] for line in told(f"  services:\n{other}{host}")] == ["warning FG0120 "]


def test_meeting_is_mutual() -> None:
    addresses = [None, "0.0.0.0", "::", "127.0.0.1", "127.0.0.2", "::1"]
    for one, other in itertools.combinations(addresses, 2):
        assert bool(published(one, other)) is bool(published(other, one)), (one, other)
