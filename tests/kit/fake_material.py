"""Certificates and secrets in memory, that keep the Material port's contract and sign nothing.

A Shelf outlives the FakeMaterials that work on it, as a disk outlives the commands. What stands for
key bytes is `PRIVATE KEY <name> <number>`, so that a test finds it where it must not be.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from forge.errors import NotOurs, OperationFailed
from forge.plan.lab_resources import AuthorityResource, LeafResource, SecretResource
from forge.plan.values import Key, Observed, Owner, Phase


@dataclass(frozen=True, slots=True)
class Authority:
    """key: number of its private key, None when that was lost. whole: ca.crt is as it was written."""

    subject: tuple[str, str | None]
    lifetime_s: float
    made_at: float
    fingerprint: str
    number: int
    key: int | None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Leaf:
    """key: of the authority that signed it. ca: number of the authority's certificate beside it."""

    wanted: LeafResource
    made_at: float
    fingerprint: str
    number: int
    key: int
    ca: int
    previous: str | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """text: None when it was lost. made: by Forge. hash: as it was when last looked after."""

    fingerprint: str
    text: bytes | None
    made: bool
    hash: str


@dataclass
class Shelf:
    """now: Unix seconds; tests move it. before: called round every mutation with its name, such as
    `make_leaf web`; tests raise there. occupied: folders that hold a user's own files."""

    now: float = 1_700_000_000.0
    authorities: dict[str, Authority] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)
    secrets: dict[str, Value] = field(default_factory=dict)
    values: dict[str, bytes] = field(default_factory=dict)
    occupied: set[str] = field(default_factory=set)
    before: Callable[[str], None] = lambda _: None
    after: Callable[[str], None] = lambda _: None
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.RLock = field(default_factory=threading.RLock)

    def inventory(self) -> set[str]:
        return {
            f"{kind} {name}"
            for kind, names in (
                ("authority", self.authorities),
                ("certificate", self.leaves),
                ("secret", self.secrets),
            )
            for name in names
        }


class FakeMaterial:
    """The Material port over a Shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def observe(self, owner: Owner, keys: Collection[Key]) -> Mapping[Key, Observed]:
        found = {key: self._observe(key) for key in keys}
        return {key: replace(seen, owner=owner) for key, seen in found.items() if seen is not None}

    def _observe(self, key: Key) -> Observed | None:
        match key.kind:
            case "authority" if key.name in self._shelf.authorities:
                authority = self._shelf.authorities[key.name]
                return self._seen(
                    key, authority.fingerprint, _digest("ca", authority.number), self._wrong_with(authority)
                )
            case "certificate" if key.name in self._shelf.leaves:
                leaf = self._shelf.leaves[key.name]
                return self._seen(key, leaf.fingerprint, _digest("leaf", leaf.number), self._wrong_in(leaf))
            case "secret" if key.name in self._shelf.secrets and key.name in self._shelf.values:
                value = self._shelf.secrets[key.name]
                changed = _sha(self._shelf.values[key.name]) != value.hash
                return self._seen(key, value.fingerprint, value.hash, "was changed" if changed else "")
        return None

    def _seen(self, key: Key, fingerprint: str, identity: str, detail: str) -> Observed:
        phase = Phase.BROKEN if detail else Phase.PRESENT
        return Observed(key, None, fingerprint, phase, identity, detail=detail)

    def _wrong_with(self, authority: Authority) -> str:
        if authority.key is None:
            return "its private key is lost"
        if not authority.whole:
            return "ca.crt was changed"
        return self._ends(authority.made_at, authority.lifetime_s)

    def _wrong_in(self, leaf: Leaf) -> str:
        authority = self._shelf.authorities.get(leaf.wanted.authority)
        if not leaf.whole:
            return "a file of it is gone or changed"
        if authority is not None and authority.key != leaf.key:
            return "another authority signed it"
        if authority is not None and authority.number != leaf.ca:
            return "its authority was renewed"
        return self._ends(leaf.made_at, leaf.wanted.lifetime_s)

    def _ends(self, made_at: float, lifetime_s: float) -> str:
        left = made_at + lifetime_s - self._shelf.now
        return f"it ends in {left:.0f} s" if left < lifetime_s / 3 else ""

    def make_authority(self, wanted: AuthorityResource, fingerprint: str) -> str:
        with self._shelf.lock:
            self._shelf.before(f"make_authority {wanted.name}")
            there = self._shelf.authorities.get(wanted.name)
            subject = (wanted.common_name, wanted.organization)
            same = there is not None and there.subject == subject
            signed = any(leaf.wanted.authority == wanted.name for leaf in self._shelf.leaves.values())
            if there is not None and same and there.key is None and signed:
                raise OperationFailed(
                    "FG0771",
                    f"authority {wanted.name} has lost its key",
                    hint="put it back",
                    changed=False,
                )
            key = there.key if there is not None and same else None
            number = next(self._shelf.numbers)
            made_at = self._shelf.now
            if (
                there is not None
                and key is not None
                and there.fingerprint == fingerprint
                and not self._ends(there.made_at, there.lifetime_s)
            ):
                number, made_at = there.number, there.made_at
            self._shelf.authorities[wanted.name] = Authority(
                subject, wanted.lifetime_s, made_at, fingerprint, number, number if key is None else key
            )
            self._shelf.after(f"make_authority {wanted.name}")
            return _digest("ca", number)

    def make_leaf(self, wanted: LeafResource, fingerprint: str) -> str:
        with self._shelf.lock:
            self._shelf.before(f"make_leaf {wanted.name}")
            authority = self._shelf.authorities.get(wanted.authority)
            if authority is None or authority.key is None:
                raise OperationFailed("FG0773", f"authority {wanted.authority} is not there", changed=False)
            there = self._shelf.leaves.get(wanted.name)
            if there is None and wanted.directory in self._shelf.occupied:
                raise NotOurs("FG0772", f"{wanted.directory} holds files of somebody else", changed=False)
            if there is not None and there.fingerprint == fingerprint:
                followed = replace(there, ca=authority.number)
                if not self._wrong_in(followed):
                    self._shelf.leaves[wanted.name] = followed
                    return _digest("leaf", there.number)
            number = next(self._shelf.numbers)
            previous = None if there is None else _digest("leaf", there.number)
            self._shelf.leaves[wanted.name] = Leaf(
                wanted, self._shelf.now, fingerprint, number, authority.key, authority.number, previous
            )
            self._shelf.after(f"make_leaf {wanted.name}")
            return _digest("leaf", number)

    def make_secret(self, wanted: SecretResource, fingerprint: str) -> str:
        with self._shelf.lock:
            self._shelf.before(f"make_secret {wanted.name}")
            there, value = self._shelf.secrets.get(wanted.name), self._shelf.values.get(wanted.name)
            made = there is not None and there.made and value is not None and _sha(value) == there.hash
            if value is None or (made and there is not None and there.fingerprint != fingerprint):
                value, made = self._random(wanted), True
            self._shelf.values[wanted.name] = value
            self._shelf.secrets[wanted.name] = Value(fingerprint, value, made, _sha(value))
            self._shelf.after(f"make_secret {wanted.name}")
            return _sha(value)

    def _random(self, wanted: SecretResource) -> bytes:
        size = wanted.bytes * (2 if wanted.encoding == "hex" else 1)
        return f"PRIVATE KEY {wanted.name} {next(self._shelf.numbers)}".encode().ljust(size, b"x")[-size:]

    def remove(self, key: Key) -> None:
        with self._shelf.lock:
            self._shelf.before(f"remove {key}")
            if key.kind == "secret":
                value = self._shelf.secrets.pop(key.name, None)
                if value is not None and value.made:
                    self._shelf.values.pop(key.name, None)
            self._shelf.authorities.pop(key.name, None) if key.kind == "authority" else None
            self._shelf.leaves.pop(key.name, None) if key.kind == "certificate" else None
            self._shelf.after(f"remove {key}")

    def read_leaf(self, name: str) -> tuple[bytes, bytes, bytes]:
        leaf = self._shelf.leaves.get(name)
        if leaf is None or not leaf.whole:
            raise OperationFailed("FG0774", f"certificate {name} is not there", changed=False)
        key = f"PRIVATE KEY {name} {leaf.number}"
        return f"CERTIFICATE {name} {leaf.number}".encode(), key.encode(), f"CERTIFICATE {leaf.ca}".encode()

    def read_secret(self, name: str) -> bytes:
        value = self._shelf.values.get(name)
        if value is None:
            raise OperationFailed("FG0774", f"secret {name} is not there", changed=False)
        return value

    def fingerprints(self) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
        leaves = self._shelf.leaves
        return (
            {name: _digest("leaf", leaf.number) for name, leaf in leaves.items()},
            {name: leaf.previous for name, leaf in leaves.items() if leaf.previous is not None},
            {name: value.hash for name, value in self._shelf.secrets.items()},
        )


def _digest(what: str, number: int) -> str:
    return _sha(f"{what} {number}".encode())


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
