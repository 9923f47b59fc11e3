"""P99 from a histogram's cumulative buckets, over the last minute rather than since the engine began.

What is scraped counts from the engine's start, so a slow morning would be told for the rest of the day: two
scrapes are subtracted. Where nobody asked meanwhile, the last answer stands. Within a bucket requests are
taken as spread evenly; what lies beyond the last bound is as slow as it (Prometheus, `histogram_quantile`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

WINDOW_S = 60.0
_SHARE = 0.99

# Cumulative: (upper bound, how many at most that), ascending, the last bound infinite.
Buckets = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Latency:
    """scrapes: (at, buckets), oldest first, those of the last minute and one before it.

    p99: in the buckets' unit; None before any request.
    """

    scrapes: tuple[tuple[float, Buckets], ...] = ()
    p99: float | None = None

    def seen(self, buckets: Buckets, now: float) -> Latency:
        """With one more scrape. Buckets that went back are those of an engine that has begun again."""
        fitting = self.scrapes and _follows(buckets, self.scrapes[-1][1])
        scrapes = (*(self.scrapes if fitting else ()), (now, buckets))
        while len(scrapes) > 1 and scrapes[1][0] <= now - WINDOW_S:
            scrapes = scrapes[1:]
        # The first one has none to be compared with: all its requests are the best there is to go by.
        asked = _since(buckets, scrapes[0][1]) if len(scrapes) > 1 else buckets
        found = quantile(asked, _SHARE)
        return Latency(scrapes, self.p99 if found is None else found)


def cumulative(counted: Iterable[tuple[float, float]]) -> Buckets:
    """The buckets of several series as one: counts added up by bound, never falling; empty without an end."""
    found: dict[float, float] = {}
    for bound, count in counted:
        found[bound] = found.get(bound, 0.0) + count
    if math.inf not in found:
        return ()
    highest, made = 0.0, []
    for bound in sorted(found):
        highest = max(highest, found[bound])
        made.append((bound, highest))
    return tuple(made)


def quantile(buckets: Buckets, share: float) -> float | None:
    """Below which *share* of them lies; None where there are none, or no finite bound."""
    total = buckets[-1][1] if buckets else 0.0
    if total <= 0 or len(buckets) < 2:
        return None
    wanted, low, below = share * total, 0.0, 0.0
    for bound, count in buckets:
        if count >= wanted:
            return low if math.isinf(bound) else low + (bound - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return low


def _follows(buckets: Buckets, before: Buckets) -> bool:
    return len(buckets) == len(before) and all(
        bound == other and count >= counted
        for (bound, count), (other, counted) in zip(buckets, before, strict=True)
    )


def _since(buckets: Buckets, before: Buckets) -> Buckets:
    return tuple(
        (bound, count - counted) for (bound, count), (_, counted) in zip(buckets, before, strict=True)
    )
