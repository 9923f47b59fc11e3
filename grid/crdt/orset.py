"""Add-wins set: of an add and a remove that do not know of each other, the add stays.

Every add makes a new *dot* (origin, count). A set holds, for each item, the dots under which it was
added, and a *context*: all dots that it has seen. A dot that the other side has seen and no longer
holds was removed there; one that it has not seen is news. So a removal needs no tombstone of its own:
the context is the tombstone of everything, and it is as small as one number an origin.
Source: Bieniusa et al. 2012, "An optimized conflict-free replicated set".

A writer that lost its memory must not make a dot twice: `add` takes the highest count that was ever
persisted as its floor.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

Dot = tuple[str, int]
"""(origin, count), counts from 1."""


@dataclass(frozen=True, slots=True)
class Context:
    """All dots seen. upto: origin -> every count up to this one. beyond: dots above a gap."""

    upto: Mapping[str, int] = field(default_factory=dict)
    beyond: frozenset[Dot] = frozenset()

    def __contains__(self, dot: Dot) -> bool:
        return dot[1] <= self.upto.get(dot[0], 0) or dot in self.beyond

    def highest(self, origin: str) -> int:
        """The highest count seen of an origin, 0 for none."""
        return max([self.upto.get(origin, 0), *(count for o, count in self.beyond if o == origin)])

    def with_dots(self, dots: Collection[Dot]) -> Context:
        return self.merge(Context({}, frozenset(dots)))

    def merge(self, other: Context) -> Context:
        """All that either has seen; gaps that are filled by it are closed."""
        upto = {o: max(self.upto.get(o, 0), other.upto.get(o, 0)) for o in {*self.upto, *other.upto}}
        beyond = set()
        for origin, count in sorted(self.beyond | other.beyond):
            if count == upto.get(origin, 0) + 1:
                upto[origin] = count
            elif count > upto.get(origin, 0):
                beyond.add((origin, count))
        return Context(upto, frozenset(beyond))

    def without(self, origins: Collection[str]) -> Context:
        return Context(
            {o: count for o, count in self.upto.items() if o not in origins},
            frozenset(dot for dot in self.beyond if dot[0] not in origins),
        )


@dataclass(frozen=True, slots=True)
class OrSet(Generic[T]):
    """dots: item -> the dots it is held under, never empty."""

    dots: Mapping[T, frozenset[Dot]] = field(default_factory=dict)
    context: Context = field(default_factory=Context)

    @property
    def items(self) -> frozenset[T]:
        return frozenset(self.dots)

    def add(self, item: T, origin: str, *, floor: int = 0) -> OrSet[T]:
        """The set with item, under a new dot in place of those it was held under here. floor: the
        highest count that origin is known to have used, whatever this set has seen of it."""
        dot = (origin, max(floor, self.context.highest(origin)) + 1)
        return OrSet({**self.dots, item: frozenset({dot})}, self.context.with_dots({dot}))

    def remove(self, item: T) -> OrSet[T]:
        """The set without item as it is known here; an add elsewhere that is not known here stays."""
        return OrSet({i: dots for i, dots in self.dots.items() if i != item}, self.context)

    def merge(self, other: OrSet[T]) -> OrSet[T]:
        merged: dict[T, frozenset[Dot]] = {}
        for item in {*self.dots, *other.dots}:
            mine, theirs = self.dots.get(item, frozenset()), other.dots.get(item, frozenset())
            kept = (mine & theirs) | _unseen(mine, other.context) | _unseen(theirs, self.context)
            if kept:
                merged[item] = kept
        return OrSet(merged, self.context.merge(other.context))

    def forget(self, origins: Collection[str]) -> OrSet[T]:
        """The set without anything of these origins, their place in the context included. Only for
        origins that are gone for good at every site: a copy of their state would bring it back."""
        kept = {i: frozenset(d for d in dots if d[0] not in origins) for i, dots in self.dots.items()}
        return OrSet({i: dots for i, dots in kept.items() if dots}, self.context.without(origins))


def _unseen(dots: frozenset[Dot], context: Context) -> frozenset[Dot]:
    return frozenset(dot for dot in dots if dot not in context)
