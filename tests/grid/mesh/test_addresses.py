"""An address is a host and a port or nothing; numbers are known at once, names are looked up and remembered."""

from __future__ import annotations

import pytest

from grid.mesh.addresses import Addresses, Place, split


@pytest.mark.parametrize(
    ("address", "place"),
    [
        pytest.param("127.0.0.1:7946", ("127.0.0.1", 7946), id="v4"),
        pytest.param("[::1]:7946", ("::1", 7946), id="v6"),
        pytest.param("swim.grid.test:1", ("swim.grid.test", 1), id="a name"),
        pytest.param("127.0.0.1", None, id="no port"),
        pytest.param(":7946", None, id="no host"),
        pytest.param("a:0", None, id="port nought"),
        pytest.param("a:65536", None, id="a port too large"),
        pytest.param("a:x", None, id="a port that is none"),
        pytest.param("a:²", None, id="a digit that is none"),
    ],
)
def test_what_an_address_says(address: str, place: Place | None) -> None:
    assert split(address) == place


async def test_a_number_is_known_at_once_and_a_name_once_it_was_looked_up() -> None:
    now = 0.0
    addresses = Addresses(lambda: now)
    assert addresses.known("127.0.0.1:5") == ("127.0.0.1", 5)
    assert addresses.known("localhost:5") is None
    found = await addresses.find("localhost:5")
    assert found in {("127.0.0.1", 5), ("::1", 5)}
    assert addresses.known("localhost:5") == found
    now = 60.0
    assert addresses.known("localhost:5") is None


async def test_what_is_no_address_is_nowhere() -> None:
    addresses = Addresses(lambda: 0.0)
    assert await addresses.find("nonsense") is None
    assert await addresses.find("x" * 90 + "\u2028:5") is None
