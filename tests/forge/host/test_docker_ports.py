"""What an engine says of a port it could not have is read, whatever its age; anything else is not."""

from __future__ import annotations

import pytest

from forge.host.docker_ports import clash, refused_port


@pytest.mark.parametrize(
    ("message", "place"),
    [
        pytest.param(
            "Bind for 127.0.0.1:8080 failed: port is already allocated", ("127.0.0.1", 8080), id="allocated"
        ),
        pytest.param("Bind for :::8080 failed: port is already allocated", ("::", 8080), id="IPv6 wildcard"),
        pytest.param(
            "Error starting userland proxy: listen tcp4 0.0.0.0:80: bind: address already in use",
            ("0.0.0.0", 80),
            id="a process has it",
        ),
        pytest.param(
            "listen tcp6 [::1]:8080: bind: address already in use", ("::1", 8080), id="a process has it, IPv6"
        ),
        pytest.param(
            "failed to bind host port for 127.0.0.1:8080:10.64.1.2:80/tcp: address already in use",
            ("127.0.0.1", 8080),
            id="Docker 27",
        ),
        pytest.param(
            "failed to bind host port 127.0.0.1:8080/tcp: address already in use",
            ("127.0.0.1", 8080),
            id="Docker 29",
        ),
        pytest.param(
            "listen tcp4 192.0.2.1:80: bind: cannot assign requested address", None, id="not this machine's"
        ),
        pytest.param("Address already in use", None, id="an address of the lab network"),
    ],
)
def test_a_refused_port_is_read(message: str, place: tuple[str, int] | None) -> None:
    assert refused_port(message) == place


@pytest.mark.parametrize(
    ("one", "other", "clashes"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "127.0.0.2", False),
        ("::1", "::", True),
        ("0.0.0.0", "::", False),
    ],
)
def test_addresses_clash_when_one_covers_the_other(one: str, other: str, clashes: bool) -> None:
    assert clash(one, other) is clashes
