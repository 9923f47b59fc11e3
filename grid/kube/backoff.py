"""How long to leave an API alone: doubling from one second to thirty, with full jitter, and back to one after
calm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

FIRST_S = 1.0
CAP_S = 30.0


@dataclass(slots=True)
class Backoff:
    """random: 0..1. Full jitter keeps a thousand clients of one restarted server from coming back as one.

    Source: Brooker 2015, "Exponential Backoff And Jitter".
    """

    random: Callable[[], float]
    first_s: float = FIRST_S
    cap_s: float = CAP_S
    _failures: int = field(default=0, init=False)

    def failed(self, asked_s: float | None = None) -> float:
        """Seconds to wait after one more failure, at least what the server asked for."""
        ceiling = min(self.cap_s, self.first_s * float(2 ** min(self._failures, 16)))
        self._failures += 1
        return max(ceiling * self.random(), min(asked_s or 0.0, self.cap_s))

    def calm(self) -> None:
        """It works: the next failure is the first again."""
        self._failures = 0
