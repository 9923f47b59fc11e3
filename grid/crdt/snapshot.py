"""What one origin says of itself, and what a site knows of all: the unit that sites exchange.

    Snapshot   (network, origin) -> Share        two networks, or two origins, never touch each other
    Share      providers by name (LWW, removal included), capabilities (add-wins), spend by tenant

Everything merges, so any order, any repetition and any route give the same. A provider that its
origin removed stays as a removal: an older copy of it, from a site that comes back, loses by its
revision. Everything is bounded: what exceeds a bound is left out by an order that is the same at every site.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from grid.crdt.gcounter import GCounter
from grid.crdt.lww import Lww
from grid.crdt.orset import OrSet

P = TypeVar("P")
"""A provider's record: any comparable, immutable value."""

MAX_SHARES = 1024
"""(network, origin) pairs. The membership table has as many places."""
MAX_PROVIDERS = 4096
"""Providers in one share, removals included."""
MAX_TENANTS = 1024
"""Tenants whose spend one share counts; as the reference implementation."""

ShareKey = tuple[str, str]
"""(network, origin)."""


@dataclass(frozen=True, slots=True)
class Capability:
    """kind: `model`, `tool` or `agent`. name: as callers ask for it."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Share(Generic[P]):
    """providers: name -> register, whose value is None once the origin removed it. spend: tenant ->
    counter in cents."""

    providers: Mapping[str, Lww[P | None]] = field(default_factory=dict)
    capabilities: OrSet[Capability] = field(default_factory=OrSet)
    spend: Mapping[str, GCounter] = field(default_factory=dict)

    @property
    def live(self) -> Mapping[str, P]:
        """The providers that are there now, by name."""
        return {name: r.value for name, r in self.providers.items() if r.value is not None}

    def put(self, name: str, record: P | None, revision: int, writer: str) -> Share[P]:
        """The share with one more write of a provider; None removes it."""
        written: Lww[P | None] = Lww(record, revision, writer)
        return self.merge(Share({name: written}))

    def merge(self, other: Share[P]) -> Share[P]:
        providers = _merged(self.providers, other.providers)
        spend = {
            tenant: self.spend.get(tenant, GCounter()).merge(other.spend.get(tenant, GCounter()))
            for tenant in _first({*self.spend, *other.spend}, MAX_TENANTS)
        }
        return Share(providers, self.capabilities.merge(other.capabilities), spend)


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[P]):
    """shares: (network, origin) -> share."""

    shares: Mapping[ShareKey, Share[P]] = field(default_factory=dict)

    def share(self, network: str, origin: str) -> Share[P]:
        return self.shares.get((network, origin), Share())

    def with_share(self, network: str, origin: str, share: Share[P]) -> Snapshot[P]:
        """The snapshot with what this share says merged in."""
        return self.merge(Snapshot({(network, origin): share}))

    def with_instead(self, network: str, origin: str, share: Share[P]) -> Snapshot[P]:
        """The snapshot with this share in place of the one before: for who knows it to be the later whole."""
        shares = {**self.shares, (network, origin): share}
        if len(shares) > MAX_SHARES:
            shares = {key: shares[key] for key in sorted(shares)[:MAX_SHARES]}
        return Snapshot(shares)

    def merge(self, other: Snapshot[P]) -> Snapshot[P]:
        kept = sorted({*self.shares, *other.shares})[:MAX_SHARES]
        return Snapshot({key: self._one(other, key) for key in kept})

    def _one(self, other: Snapshot[P], key: ShareKey) -> Share[P]:
        mine, theirs = self.shares.get(key), other.shares.get(key)
        if mine is None or theirs is None or mine is theirs:
            return mine or theirs or Share()
        return mine.merge(theirs)

    def delta(self, known: Snapshot[P]) -> Snapshot[P]:
        """What must be merged into *known* so that it holds all of this: only the shares that
        differ, and in them only the provider writes that are news."""
        news = {}
        for key, share in self.shares.items():
            theirs = known.shares.get(key, Share())
            if share == theirs:
                continue
            providers = {n: r for n, r in share.providers.items() if theirs.providers.get(n) != r}
            news[key] = Share(providers, share.capabilities, share.spend)
        return Snapshot(news)

    def without(self, origins: Iterable[str]) -> Snapshot[P]:
        """The snapshot without origins that are gone for good."""
        gone = set(origins)
        return Snapshot({key: share for key, share in self.shares.items() if key[1] not in gone})


def _merged(
    mine: Mapping[str, Lww[P | None]], theirs: Mapping[str, Lww[P | None]]
) -> Mapping[str, Lww[P | None]]:
    merged = dict(mine)
    for name, register in theirs.items():
        held = merged.get(name)
        merged[name] = register if held is None else held.merge(register)
    if len(merged) <= MAX_PROVIDERS:
        return merged
    return {name: merged[name] for name in sorted(merged)[:MAX_PROVIDERS]}


def _first(names: Iterable[str], count: int) -> list[str]:
    return sorted(names)[:count]
