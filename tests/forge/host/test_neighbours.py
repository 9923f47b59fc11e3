"""Neighbours on loopback are told by what they hold; what a service of Forge holds is in test_embedded."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host import neighbours
from forge.host.blocks import Claim
from forge.plan.resources import PortBinding, ServiceResource


@pytest.fixture
def listener() -> Iterator[tuple[str, int]]:
    """Somebody's server inside a block of loopback addresses."""
    with socket.socket() as server:
        server.bind(("127.91.2.3", 0))
        server.listen()
        yield server.getsockname()


def claim(subnet: str) -> Claim:
    return Claim("id", "lab", subnet, "network/lab", "lab", "eid", "f", "/lab/.forge")


def test_a_strangers_block_is_told_unless_it_is_claimed_or_our_own(listener: tuple[str, int]) -> None:
    block = "127.91.0.0/16"
    assert neighbours.strangers([], [])[block] == "a program that listens on 127.91.2.3"
    assert block not in neighbours.strangers([claim("127.91.0.0/16")], [])
    assert block not in neighbours.strangers([], ["127.91.2.3", None])
    assert block in neighbours.strangers([claim("127.92.0.0/16")], ["127.92.1.1"])


def test_the_first_block_is_everybodys() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert "127.0.0.0/16" not in neighbours.strangers([], [])


def test_a_port_of_nobodys_is_held_by_a_process(listener: tuple[str, int]) -> None:
    held = neighbours.held(*listener, folders=[])
    assert held is not None
    assert (held.bind, held.port, held.owner, held.key) == (*listener, None, None)
    assert held.holder.startswith("process ")


def test_an_environment_without_a_supervisor_names_nobody(listener: tuple[str, int], tmp_path: Path) -> None:
    held = neighbours.held(*listener, folders=[str(tmp_path), "/nowhere"])
    assert held is not None
    assert held.owner is None


def test_an_error_about_something_else_stays_as_it_is(listener: tuple[str, int]) -> None:
    service = ServiceResource("web", "lab-web", "app:dev", ports=(PortBinding(*listener, 80),))
    other = OperationFailed("FG0503", "what", why="why")
    assert neighbours.naming_holder(other, service, []) is other
    taken = OperationFailed("FG0504", "what", why="Address already in use")
    named = neighbours.naming_holder(taken, service, [])
    assert named.why.startswith(f"127.91.2.3:{listener[1]} is held by process ")
    gone = ServiceResource("web", "lab-web", "app:dev")
    assert neighbours.naming_holder(taken, gone, []) is taken
