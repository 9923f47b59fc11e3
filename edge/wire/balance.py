"""Which endpoint next: the strategies, as choices among the endpoints that may be asked.

A strategy is a callable over the open endpoints, in the cluster's order, and the request's key; the pool has
already left out the unhealthy ones (unless it panics) and those that were tried. None of them does I/O or
knows the time; what is random comes from a source handed in. Each has a form for unequal weights, chosen when
the cluster is built, so that equal ones cost nothing.

    round_robin        each in turn                                  in proportion to the weights
    least_connections  the fewest requests in flight, then in turn   per unit of weight
    p2c                the less busy one of two drawn at random      drawn by weight, busy per unit of weight
    consistent_hash    the same key, the same endpoint               a share of the keys by weight
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log
from typing import Literal, Protocol, TypeVar


class Loaded(Protocol):
    """What a strategy may look at. in_flight: requests being answered by this endpoint. weight: its share,
    relative to the others', from 1. Its text is its address."""

    in_flight: int
    weight: int


E = TypeVar("E", bound=Loaded)


class Strategy(Protocol[E]):
    """One of *open_endpoints*, which is never empty. key: only consistent_hash looks at it."""

    def __call__(self, open_endpoints: Sequence[E], key: bytes = b"", /) -> E: ...


@dataclass(frozen=True, slots=True)
class KeyFrom:
    """Where a request's key is taken from. header: its name in lower case, for `header` alone."""

    source: Literal["header", "path", "client_address", "session"]
    header: bytes = b""


def panics(healthy: int, known: int, percent: int) -> bool:
    """Whether so few of the *known* endpoints are *healthy* that all are asked: fewer than *percent* in a
    hundred. 0 never panics; 1 does when none is healthy (of at most a hundred)."""
    return healthy * 100 < percent * known


class RoundRobin:
    """Each in turn. The turn counts choices, so endpoints that come and go do not reset it."""

    __slots__ = ("_turn",)

    def __init__(self) -> None:
        self._turn = -1

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        self._turn += 1
        return open_endpoints[self._turn % len(open_endpoints)]


class LeastConnections:
    """The one with the fewest requests in flight; among equals, in turn: an idle cluster must not send
    everything to its first endpoint."""

    __slots__ = ("_turn",)

    def __init__(self) -> None:
        self._turn = -1

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        self._turn += 1
        start = self._turn % len(open_endpoints)
        rotated = (*open_endpoints[start:], *open_endpoints[:start])
        return min(rotated, key=lambda endpoint: endpoint.in_flight)


class TwoChoices:
    """The less busy one of two different endpoints drawn at random, the first of them when they are even
    (Mitzenmacher 2001, "The power of two choices in randomized load balancing").

    draw: numbers in [0, 1), each on its own.
    """

    __slots__ = ("_draw",)

    def __init__(self, draw: Callable[[], float]) -> None:
        self._draw = draw

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        count = len(open_endpoints)
        if count == 1:
            return open_endpoints[0]
        first, second = int(self._draw() * count), int(self._draw() * (count - 1))
        one, other = open_endpoints[first], open_endpoints[second + (second >= first)]
        return one if one.in_flight <= other.in_flight else other


_CYCLE = 1 << 40
"""One cycle of the virtual time below. So long that rounding a stride moves a turn once in 2**24 cycles."""


@dataclass(slots=True)
class _Place:
    """due: when its next turn is. stride: between two of its turns. offset: of a newcomer's first turn; they
    are spread so that heavy endpoints' turns fall between light ones'."""

    due: int
    stride: int
    offset: int


class WeightedRoundRobin:
    """In proportion to the weights, each one's turns spread over the cycle (stride scheduling, Waldspurger
    1995): the endpoint whose turn is due first, whose next one is then a stride, 1/weight, later.

    Virtual time moves with the turns taken. An endpoint that was away comes back as a newcomer: it neither
    catches up on turns it missed nor waits for others to. So whatever comes and goes, those that stay get
    their weight within one turn.
    """

    __slots__ = ("_now", "_places")

    def __init__(self, endpoints: Iterable[Loaded]) -> None:
        self._now = 0
        self._places = {id(endpoint): _place(n, endpoint.weight) for n, endpoint in enumerate(endpoints)}

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        places, now = self._places, self._now
        chosen = open_endpoints[0]
        first: _Place | None = None
        for endpoint in open_endpoints:
            place = places[id(endpoint)]
            if place.due < now:
                place.due = now + place.offset
            if first is None or place.due < first.due:
                chosen, first = endpoint, place
        if first is not None:
            self._now = first.due
            first.due += first.stride
        return chosen


def _place(number: int, weight: int) -> _Place:
    stride = _CYCLE // weight
    offset = stride * ((number * 633 + 512) % 1024) // 1024  # 633/1024 is the golden ratio's fraction
    return _Place(offset, stride, offset)


class WeightedLeastConnections:
    """The fewest requests in flight per unit of weight; equals take turns by weight."""

    __slots__ = ("_turns",)

    def __init__(self, endpoints: Iterable[Loaded]) -> None:
        self._turns = WeightedRoundRobin(endpoints)

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        loads = [endpoint.in_flight / endpoint.weight for endpoint in open_endpoints]
        least = min(loads)
        return self._turns([e for e, load in zip(open_endpoints, loads, strict=True) if load == least])


class WeightedTwoChoices:
    """Two different endpoints drawn by weight, of which the less busy one per unit of weight."""

    __slots__ = ("_draw",)

    def __init__(self, draw: Callable[[], float]) -> None:
        self._draw = draw

    def __call__(self, open_endpoints: Sequence[E], _key: bytes = b"", /) -> E:
        one = _drawn(open_endpoints, self._draw())
        if len(open_endpoints) == 1:
            return one
        other = _drawn([endpoint for endpoint in open_endpoints if endpoint is not one], self._draw())
        return one if one.in_flight * other.weight <= other.in_flight * one.weight else other


def _drawn(endpoints: Sequence[E], at: float) -> E:
    """The endpoint at *at*, in [0, 1), of their weights laid end to end."""
    left = at * sum(endpoint.weight for endpoint in endpoints)
    for endpoint in endpoints:
        left -= endpoint.weight
        if left < 0:
            return endpoint
    return endpoints[-1]


class Rendezvous:
    """The same endpoint for the same key: the one whose score with it is highest (Thaler and Ravishankar
    1998).

    Scores depend on the key and the endpoint's address alone: all gateways agree, before and after restarts,
    and when an endpoint leaves only its own keys move, to all the others.
    """

    __slots__ = ("_factors",)

    def __init__(self, endpoints: Iterable[Loaded]) -> None:
        self._factors = {id(endpoint): _factor(endpoint) for endpoint in endpoints}

    def __call__(self, open_endpoints: Sequence[E], key: bytes = b"", /) -> E:
        factors, hashed = self._factors, _hashed(key)
        chosen, highest = open_endpoints[0], -1
        for endpoint in open_endpoints:
            score = hashed * factors[id(endpoint)] & _64_BITS
            if score > highest:
                chosen, highest = endpoint, score
        return chosen


class WeightedRendezvous:
    """The same, with each endpoint's share of the keys its weight (Schindelhauer and Schomaker 2005). With
    equal weights it chooses as `Rendezvous` does, so a change of one weight moves no more than it must."""

    __slots__ = ("_factors",)

    def __init__(self, endpoints: Iterable[Loaded]) -> None:
        self._factors = {id(endpoint): _factor(endpoint) for endpoint in endpoints}

    def __call__(self, open_endpoints: Sequence[E], key: bytes = b"", /) -> E:
        factors, hashed = self._factors, _hashed(key)
        chosen, highest = open_endpoints[0], 0.0
        for endpoint in open_endpoints:
            unit = ((hashed * factors[id(endpoint)] & _64_BITS) + 1) / _PAST_64_BITS
            score = endpoint.weight / -log(unit)
            if score > highest:
                chosen, highest = endpoint, score
        return chosen


_64_BITS = (1 << 64) - 1
_PAST_64_BITS = float((1 << 64) + (1 << 12))  # what is divided by it stays below 1


def _factor(endpoint: Loaded) -> int:
    """An odd number of the endpoint's own. The high bits of a hash multiplied by it depend on all of its bits
    (Dietzfelbinger et al. 1997, multiplicative hashing)."""
    return _hashed(str(endpoint).encode()) | 1


def _hashed(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest())


Name = Literal["round_robin", "least_connections", "p2c", "consistent_hash"]


def strategy_of(name: Name, endpoints: Sequence[E], draw: Callable[[], float] | None = None) -> Strategy[E]:
    """A new strategy for a cluster of *endpoints*. draw: for p2c; by default seeded by the system."""
    even = len({endpoint.weight for endpoint in endpoints}) == 1
    match name:
        case "round_robin":
            return RoundRobin() if even else WeightedRoundRobin(endpoints)
        case "least_connections":
            return LeastConnections() if even else WeightedLeastConnections(endpoints)
        case "p2c":
            source = draw or random.Random().random  # noqa: S311 - a draw, no secret
            return TwoChoices(source) if even else WeightedTwoChoices(source)
        case "consistent_hash":
            return Rendezvous(endpoints) if even else WeightedRendezvous(endpoints)
