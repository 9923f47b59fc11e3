"""The Material port over one state directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from forge.host.material import disk
from forge.host.material.authorities import Authorities
from forge.host.material.leaves import Leaves, missing
from forge.host.material.place import Place
from forge.host.material.secrets import Secrets
from forge.plan.lab_ports import Material
from forge.plan.lab_resources import AuthorityResource, LeafResource, SecretResource
from forge.plan.values import Key, Observed, Owner


def open_material(state_dir: Path) -> Material:
    """The material of an environment. state_dir: absolute. Nothing is touched until something is made."""
    return DiskMaterial(state_dir)


class DiskMaterial:
    """See forge.plan.lab_ports.Material and this package's docstring."""

    def __init__(self, state_dir: Path, now: Callable[[], float] = time.time) -> None:
        self._place = Place(state_dir, now)
        self._authorities = Authorities(self._place)
        self._leaves = Leaves(self._place, self._authorities)
        self._secrets = Secrets(self._place)

    def observe(self, owner: Owner, keys: Collection[Key]) -> Mapping[Key, Observed]:
        found = {key: self._observe(owner, key) for key in keys}
        return {key: seen for key, seen in found.items() if seen is not None}

    def _observe(self, owner: Owner, key: Key) -> Observed | None:
        match key.kind:
            case "authority":
                return self._authorities.observe(owner, key)
            case "certificate":
                return self._leaves.observe(owner, key)
            case "secret":
                return self._secrets.observe(owner, key)
            case _:
                return None

    def make_authority(self, wanted: AuthorityResource, fingerprint: str) -> str:
        return self._authorities.make(wanted, fingerprint)

    def make_leaf(self, wanted: LeafResource, fingerprint: str) -> str:
        return self._leaves.make(wanted, fingerprint)

    def make_secret(self, wanted: SecretResource, fingerprint: str) -> str:
        return self._secrets.make(wanted, fingerprint)

    def remove(self, key: Key) -> None:
        try:
            match key.kind:
                case "authority":
                    self._authorities.remove(key.name)
                case "certificate":
                    self._leaves.remove(key.name)
                case "secret":
                    self._secrets.remove(key.name)
                case other:
                    raise ValueError(f"{other} is none of what is made here")
        except OSError as error:
            raise disk.cannot_write(self._place.own, error) from error
        self._prune()

    def _prune(self) -> None:
        """Folders of its own that hold nothing any more."""
        own = self._place.own
        disk.remove_empty([*(own / kind for kind in ("authority", "certificate", "secret")), own])
        disk.remove_empty([self._place.secrets])

    def read_leaf(self, name: str) -> tuple[bytes, bytes, bytes]:
        found = self._leaves.read(name)
        if found is None:
            raise missing(f"certificate {name}")
        return found

    def read_secret(self, name: str) -> bytes:
        value = self._secrets.read(name)
        if value is None:
            raise missing(f"secret {name}")
        return value

    def fingerprints(self) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
        leaves = self._place.leaves.all()
        return (
            {name: record.sha256 for name, record in leaves.items()},
            {name: record.previous for name, record in leaves.items() if record.previous is not None},
            {name: record.sha256 for name, record in self._place.values.all().items()},
        )
