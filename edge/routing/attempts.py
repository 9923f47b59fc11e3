"""How often one request may be tried elsewhere: a bounded number of candidates, and a bounded time.

Only for attempts of which no request byte left; whether that is so, the engine knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# One dead provider and one dying beside it; a third failure is the gateway's own network.
MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Attempts:
    """tried: stable_ids in the order they failed. most: candidates for one request, the first included.
    until: no attempt begins at or after it, in seconds of the clock `may_try` is asked by."""

    tried: tuple[str, ...] = ()
    most: int = MAX_ATTEMPTS
    until: float = math.inf

    def failed(self, stable_id: str) -> Attempts:
        """With one more that failed."""
        return replace(self, tried=(*self.tried, stable_id))

    def may_try(self, now: float) -> bool:
        """Whether another candidate may be asked."""
        return len(self.tried) < self.most and now < self.until
