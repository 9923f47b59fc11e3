"""The one source of chance a node has: handed in, so that one seed gives one history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Chance(Protocol):
    """`random.Random` is one."""

    def random(self) -> float:
        """In [0, 1)."""
        ...

    def randrange(self, stop: int, /) -> int:
        """In 0 .. stop-1."""
        ...


def draw(chance: Chance, items: Sequence[T], count: int) -> list[T]:
    """So many different ones, in random order; all of them where there are no more."""
    if count * 3 >= len(items):
        return shuffled(chance, items)[:count]
    places: dict[int, None] = {}
    while len(places) < count:
        places[chance.randrange(len(items))] = None
    return [items[place] for place in places]


def shuffled(chance: Chance, items: Sequence[T]) -> list[T]:
    """A new list, in random order (Fisher and Yates)."""
    deck = list(items)
    for last in range(len(deck) - 1, 0, -1):
        other = chance.randrange(last + 1)
        deck[last], deck[other] = deck[other], deck[last]
    return deck


def spread(chance: Chance, around_s: float) -> float:
    """A time from three to five quarters of it, so that nodes do not march in step."""
    return around_s * (0.75 + 0.5 * chance.random())
