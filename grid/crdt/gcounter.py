"""Grow-only counter: every origin counts in a slot of its own, and the value is their sum.

Merging takes the larger of each slot. Under a partition a site sees less than the whole, never more.
Slots and sums stop at LIMIT instead of wrapping, so a peer that lies cannot overflow anybody.
Source: Shapiro et al. 2011, "A comprehensive study of CRDTs", 3.1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LIMIT = 2**63 - 1
"""What a signed 64-bit integer holds: other languages and databases read the value too."""

MAX_ORIGINS = 256
"""Slots in one counter. A mesh has tens of sites; 256 is what the reference implementation allows."""


@dataclass(frozen=True, slots=True)
class GCounter:
    """slots: origin -> its count, 1 to LIMIT."""

    slots: Mapping[str, int] = field(default_factory=dict)

    @property
    def value(self) -> int:
        return min(LIMIT, sum(self.slots.values()))

    def add(self, origin: str, amount: int) -> GCounter:
        """The counter with amount more in origin's slot. Raises ValueError for a negative amount;
        a new origin is not taken in when there are MAX_ORIGINS already."""
        if amount < 0:
            raise ValueError("a grow-only counter does not shrink")
        return self.merge(GCounter({origin: min(LIMIT, self.slots.get(origin, 0) + amount)}))

    def only(self, origin: str) -> GCounter:
        """What this origin itself has counted: all that a message of its own may carry."""
        return GCounter({o: count for o, count in self.slots.items() if o == origin})

    def merge(self, other: GCounter) -> GCounter:
        """Slot-wise maximum. Beyond MAX_ORIGINS the first by name stay, the same ones everywhere."""
        slots = dict(self.slots)
        for origin, count in other.slots.items():
            if count > slots.get(origin, 0):
                slots[origin] = min(LIMIT, count)
        return GCounter({origin: slots[origin] for origin in sorted(slots)[:MAX_ORIGINS]})
