"""How a node that sees nobody calls: in bursts, further and further apart, never in step with others.

Whom it calls: its seeds, the dead it remembers, and the peers that were kept from earlier days. A grid whose
every site comes back at once is thus not stormed, and one that was alone for a night is back in a minute.
"""

from __future__ import annotations

from collections.abc import Iterable

from grid.swim.draw import Chance, draw, spread
from grid.swim.tuning import MAX_ADDRESSES, Tuning


class Callback:
    """seeds: as configured, always kept. peers: addresses that answered once, the latest last."""

    __slots__ = ("_chance", "_delay_s", "_next_at", "peers", "seeds", "tuning")

    def __init__(self, chance: Chance, tuning: Tuning, peers: Iterable[str] = ()) -> None:
        self._chance = chance
        self.tuning = tuning
        self.seeds: tuple[str, ...] = ()
        self.peers: dict[str, None] = dict.fromkeys(list(peers)[-MAX_ADDRESSES:])
        self._delay_s = tuning.rejoin_first_s
        self._next_at: float | None = None

    def remember(self, address: str) -> None:
        self.peers.pop(address, None)
        self.peers[address] = None
        if len(self.peers) > MAX_ADDRESSES:
            del self.peers[next(iter(self.peers))]

    def reset(self) -> None:
        """Somebody is there: the next isolation starts with short waits again."""
        self._delay_s, self._next_at = self.tuning.rejoin_first_s, None

    def burst(self, dead: Iterable[str], own: str, now: float) -> list[str]:
        """Addresses to call now; none between bursts. Seeds are in every burst, up to its size."""
        if self._next_at is not None and now < self._next_at:
            return []
        self._next_at = now + spread(self._chance, self._delay_s)
        self._delay_s = min(self._delay_s * 2, self.tuning.rejoin_max_s)
        seeds = draw(self._chance, [s for s in self.seeds if s != own], self.tuning.rejoin_burst)
        others = [a for a in dict.fromkeys((*dead, *self.peers)) if a != own and a not in seeds]
        return seeds + draw(self._chance, others, self.tuning.rejoin_burst)
