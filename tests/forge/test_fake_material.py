"""The material in memory keeps the same contract as the one on disk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from forge.plan.lab_ports import Material
from forge.plan.lab_resources import AuthorityResource, LeafResource, SecretResource
from forge.plan.values import Key, Owner
from tests.kit.fake_material import FakeMaterial, Shelf
from tests.kit.material_contract import DAY, MaterialContract


@dataclass
class FakeDesk:
    owner: Owner = field(default_factory=lambda: Owner("lab", "0123456789abcdef"))
    shelf: Shelf = field(default_factory=Shelf)

    def open(self) -> Material:
        return FakeMaterial(self.shelf)

    def authority(self, name: str = "ca") -> AuthorityResource:
        return AuthorityResource(name, name, None, 3650 * DAY, f"/lab/certs/{name}")

    def leaf(self, name: str = "web", authority: str = "ca") -> LeafResource:
        return LeafResource(
            name,
            authority,
            name,
            None,
            (f"{name}.test",),
            (),
            (),
            ("server",),
            90 * DAY,
            f"/lab/certs/{name}",
        )

    def secret(self, name: str = "token", bytes: int = 32, encoding: str = "hex") -> SecretResource:  # noqa: A002 - the file's word
        return SecretResource(name, bytes, encoding, f"/lab/secrets/{name}/value")

    def later(self, seconds: float) -> None:
        self.shelf.now += seconds

    def lose(self, key: Key) -> None:
        if key.kind == "secret":
            del self.shelf.values[key.name]
        else:
            self.spoil(key)

    def spoil(self, key: Key) -> None:
        if key.kind == "certificate":
            self.shelf.leaves[key.name] = replace(self.shelf.leaves[key.name], whole=False)
        else:
            self.shelf.authorities[key.name] = replace(self.shelf.authorities[key.name], whole=False)

    def lose_key(self, authority: str) -> None:
        self.shelf.authorities[authority] = replace(self.shelf.authorities[authority], key=None)

    def occupy(self, leaf: LeafResource) -> None:
        self.shelf.occupied.add(leaf.directory)

    def put_secret(self, name: str, value: bytes) -> None:
        self.shelf.values[name] = value


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


class TestFakeMaterial(MaterialContract):
    pass
