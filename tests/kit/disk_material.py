"""An environment's certificates and secrets on disk, in the words of the Material contract."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from forge.host.material.store import DiskMaterial
from forge.plan.lab_resources import AuthorityResource, LeafResource, SecretResource
from forge.plan.values import Key, Owner
from tests.kit.material_contract import DAY


@dataclass
class DiskDesk:
    """A project folder with its state directory."""

    folder: Path
    owner: Owner = field(default_factory=lambda: Owner("lab", "0123456789abcdef"))
    now: float = 1_700_000_000.0

    @property
    def state_dir(self) -> Path:
        return self.folder / ".forge"

    def open(self) -> DiskMaterial:
        return DiskMaterial(self.state_dir, lambda: self.now)

    def authority(self, name: str = "ca") -> AuthorityResource:
        directory = self.state_dir / "runtime" / "certs" / name
        return AuthorityResource(name, name, None, 3650 * DAY, str(directory))

    def leaf(self, name: str = "web", authority: str = "ca") -> LeafResource:
        directory = self.folder / "tls" / name
        usages = ("server", "client")
        return LeafResource(
            name, authority, name, "lab", (f"{name}.test",), (), (), usages, 90 * DAY, str(directory)
        )

    def secret(self, name: str = "token", bytes: int = 32, encoding: str = "hex") -> SecretResource:  # noqa: A002 - the file's word
        return SecretResource(name, bytes, encoding, str(self.value(name)))

    def value(self, name: str = "token") -> Path:
        return self.state_dir / "secrets" / name / "value"

    def later(self, seconds: float) -> None:
        self.now += seconds

    def lose(self, key: Key) -> None:
        match key.kind:
            case "certificate":
                shutil.rmtree(self.leaf(key.name).directory)
            case "authority":
                shutil.rmtree(self.authority(key.name).directory)
            case _:
                self.value(key.name).unlink()

    def spoil(self, key: Key) -> None:
        leaf = key.kind == "certificate"
        folder, name = (
            (self.leaf(key.name).directory, "tls.crt")
            if leaf
            else (self.authority(key.name).directory, "ca.crt")
        )
        Path(folder, name).write_bytes(b"rubbish")

    def key_file(self, authority: str = "ca") -> Path:
        return self.state_dir / "secrets" / "_forge" / "authority" / f"{authority}.key"

    def lose_key(self, authority: str) -> None:
        self.key_file(authority).unlink()

    def occupy(self, leaf: LeafResource) -> None:
        Path(leaf.directory).mkdir(parents=True)
        Path(leaf.directory, "tls.crt").write_text("mine")

    def put_secret(self, name: str, value: bytes) -> None:
        self.value(name).parent.mkdir(parents=True, exist_ok=True)
        self.value(name).write_bytes(value)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}
