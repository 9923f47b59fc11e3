"""A site is who its pinned certificate says; a private key is discarded before it is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.seal.trust import MAX_PEM, Leaf, Refusal, fingerprint, is_pinned, leaf_of, parse_fingerprint, verify
from tests.kit.certs import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def east(authority: Authority) -> tuple[Leaf, Path, Path]:
    made = authority.leaf("provider-east")
    found = leaf_of(made.certificate.read_bytes())
    assert isinstance(found, Leaf)
    assert found.fingerprint == fingerprint(made.der)
    return found, made.certificate, made.key


def test_a_pinned_leaf_of_that_name_is_the_site(east: tuple[Leaf, Path, Path]) -> None:
    leaf, _, _ = east
    assert leaf.common_name == "provider-east"
    assert verify("provider-east", leaf, [leaf.fingerprint]) is None


@pytest.mark.parametrize(
    ("site", "pins", "refusal"),
    [
        pytest.param("provider-east", [], Refusal.NO_PINS, id="nothing is pinned"),
        pytest.param("provider-west", ["own"], Refusal.WRONG_NAME, id="another site's name"),
        pytest.param("provider-east", ["0" * 64], Refusal.NOT_PINNED, id="another certificate is pinned"),
        pytest.param("provider-east", ["no hex"], Refusal.NOT_PINNED, id="a malformed pin"),
        pytest.param(
            "provider-east", ["0" * 64, "1" * 64, "own"], Refusal.NOT_PINNED, id="a third pin does not count"
        ),
        pytest.param("provider-east", ["0" * 64, "own"], None, id="the second pin, while it is renewed"),
    ],
)
def test_verify(east: tuple[Leaf, Path, Path], site: str, pins: list[str], refusal: Refusal | None) -> None:
    leaf, _, _ = east
    assert verify(site, leaf, [leaf.fingerprint if p == "own" else p for p in pins]) is refusal


def test_what_is_no_certificate_is_refused(east: tuple[Leaf, Path, Path]) -> None:
    _, certificate, key = east
    assert leaf_of(key.read_bytes()) is Refusal.PRIVATE_KEY
    assert leaf_of(certificate.read_bytes() + key.read_bytes()) is Refusal.PRIVATE_KEY
    assert leaf_of(key.read_bytes().lower()) is Refusal.PRIVATE_KEY
    assert leaf_of(b"") is Refusal.UNREADABLE
    assert leaf_of(certificate.read_bytes()[:-40]) is Refusal.UNREADABLE
    assert leaf_of(b"x" * (MAX_PEM + 1)) is Refusal.TOO_LARGE


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda b: b"-----BEGIN CERTIFICATE-----\n" + b))
def test_any_bytes_are_refused_and_never_raise(pem: bytes) -> None:
    assert isinstance(leaf_of(pem), Refusal)


@pytest.mark.parametrize(
    "write",
    [str, str.upper, lambda f: f"sha256:{f}", lambda f: ":".join(f[i : i + 2] for i in range(0, 64, 2))],
)
def test_a_pin_may_be_written_as_people_do(east: tuple[Leaf, Path, Path], write: object) -> None:
    leaf, _, _ = east
    assert callable(write)
    assert is_pinned(leaf.fingerprint, [write(leaf.fingerprint)])


@pytest.mark.parametrize("text", ["", "sha256:", "0" * 63, "0" * 65, "g" * 64])
def test_what_is_no_pin(text: str) -> None:
    assert parse_fingerprint(text) is None
