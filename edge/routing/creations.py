"""How fast a tenant may begin new bindings: one token bucket each, by the tenant's tag.

Without it one tenant with a session id per request would fill the table for all. The buckets are bounded
themselves: one that has filled up again says nothing and is dropped; while none is, a tenant not seen before
gets no binding, which costs it stickiness and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rate:
    """per_s: bindings a second in the long run. burst: at once. max_tenants: buckets kept."""

    per_s: float = 50.0
    burst: int = 1_000
    max_tenants: int = 10_000


@dataclass(slots=True)
class Creations:
    """tag -> [tokens, when that was], the least recently used first."""

    _rows: OrderedDict[bytes, list[float]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._rows)

    def may_create(self, tag: bytes, rate: Rate, now: float) -> bool:
        """Takes one of the tenant's tokens; False when there is none, or no room to count a new tenant."""
        row = self._rows.get(tag)
        if row is None:
            if not self._has_room(rate, now):
                return False
            row = self._rows[tag] = [float(rate.burst), now]
        self._rows.move_to_end(tag)
        tokens = _tokens(row, rate, now)
        row[:] = [tokens - 1 if tokens >= 1 else tokens, now]
        return tokens >= 1

    def _has_room(self, rate: Rate, now: float) -> bool:
        """Drops buckets from the oldest on while they are full. One used lately is not: it has just paid."""
        while self._rows and _tokens(next(iter(self._rows.values())), rate, now) >= rate.burst:
            self._rows.popitem(last=False)
        return len(self._rows) < rate.max_tenants


def _tokens(row: list[float], rate: Rate, now: float) -> float:
    return min(float(rate.burst), row[0] + (now - row[1]) * rate.per_s)
