"""News to be passed on: claims and four lanes of facts, each told so often, the least told first.

A message's room is shared so that nobody starves: claims have the first quarter, then the lane whose turn it
is has all that is left, then the others in order, and claims what remains. Turns go round by message, so that
a fact that fits at all is told after at most four messages, however much waits in the other lanes.

Only keys and sizes are kept; what is said under a key is looked up when it is said, so it is never old.
Source: SWIM 2002, 4.1, and memberlist's TransmitLimitedQueue for the order.
"""

from __future__ import annotations

from dataclasses import dataclass

from grid.swim.messages import Lane

LANES = tuple(Lane)
CLAIMS_SHARE = 4
SMALLEST = 16
"""Less room than this holds nothing; and so many that do not fit are passed over before a search ends."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How often news is told. own: of this site, by itself: until somebody has it, nobody else tells it."""

    each: int
    site: str = ""
    own: int = 0

    def of(self, key: str) -> int:
        return self.own if key == self.site else self.each


class Queue:
    """Keys by how often they were told: `tiers[2]` holds what was told twice, in order of coming.

    told: how often, by key.
    """

    __slots__ = ("_tiers", "told")

    def __init__(self) -> None:
        self.told: dict[str, int] = {}
        self._tiers: list[dict[str, int]] = []

    def __len__(self) -> int:
        return len(self.told)

    def put(self, key: str, size: int) -> None:
        """News under this key, of so many bytes: what was told of it before counts no more."""
        self.drop(key)
        self._enter(key, size, 0)

    def drop(self, key: str) -> None:
        told = self.told.pop(key, None)
        if told is not None:
            del self._tiers[told][key]

    def take(self, room: int, budget: Budget) -> tuple[list[str], int]:
        """Keys that fit, and the room they leave. Each counts as told once more, and leaves with the last."""
        taken = self._fitting(room)
        for key, size, told in taken:
            room -= size
            self.drop(key)
            if told + 1 < budget.of(key):
                self._enter(key, size, told + 1)
        return [key for key, _, _ in taken], room

    def _fitting(self, room: int) -> list[tuple[str, int, int]]:
        taken: list[tuple[str, int, int]] = []
        passed = 0
        for told, tier in enumerate(self._tiers):
            for key, size in tier.items():
                if room < SMALLEST or passed >= SMALLEST:
                    return taken
                if size <= room:
                    taken.append((key, size, told))
                    room -= size
                else:
                    passed += 1
        return taken

    def _enter(self, key: str, size: int, told: int) -> None:
        while len(self._tiers) <= told:
            self._tiers.append({})
        self._tiers[told][key] = size
        self.told[key] = told


class Outbox:
    """claims: by site. lanes: by origin."""

    __slots__ = ("_turn", "_waiting", "claims", "lanes")

    def __init__(self) -> None:
        self.claims = Queue()
        self.lanes = {lane: Queue() for lane in LANES}
        self._waiting = (self.claims.told, *(queue.told for queue in self.lanes.values()))
        self._turn = 0

    @property
    def is_empty(self) -> bool:
        return not any(self._waiting)

    def take(self, room: int, budget: Budget) -> tuple[list[str], list[tuple[Lane, str]]]:
        """Sites, and (lane, origin) pairs, to fill one message with."""
        claims, unused = self.claims.take(room // CLAIMS_SHARE, budget)
        room -= room // CLAIMS_SHARE - unused
        facts: list[tuple[Lane, str]] = []
        self._turn = (self._turn + 1) % len(LANES)
        for lane in LANES[self._turn :] + LANES[: self._turn]:
            if queue := self.lanes[lane]:
                origins, room = queue.take(room, budget)
                facts += [(lane, origin) for origin in origins]
        if room >= SMALLEST and len(self.claims) > len(claims):
            claims += [site for site in self.claims.take(room, budget)[0] if site not in claims]
        return claims, facts

    def forget(self, site: str) -> None:
        self.claims.drop(site)
        for queue in self.lanes.values():
            queue.drop(site)
