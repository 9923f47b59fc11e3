"""What one request came to: collected while it is served, counted and logged once at its end."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from edge.simulator.metrics import SimMetrics
from edge.simulator.settings import Settings

log = logging.getLogger("edge.simulator")


@dataclass(slots=True)
class Seen:
    """outcome: answered, refused, error, reset, malformed, hung or gone (the client left)."""

    request_id: str
    path: str
    started: float
    model: str | None = None
    status: int = 200
    outcome: str = "answered"
    fault: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    first_token_s: float | None = None

    def spoiled_by(self, fault: str, outcome: str) -> None:
        self.fault, self.outcome = fault, outcome


def account(seen: Seen, seconds: float, metrics: SimMetrics, settings: Settings) -> None:
    """Counts *seen* and writes its line; *seconds* is all the time it took."""
    failed = seen.status >= 500 or seen.outcome in {"reset", "malformed", "hung"}
    metrics.ended(seconds, failed=failed)
    if seen.model is not None:
        reason = "stop" if seen.outcome == "answered" else "abort"
        metrics.prompt_tokens.add(seen.model, by=seen.tokens_in)
        metrics.generated.add(seen.model, by=seen.tokens_out)
        metrics.finished.add(seen.model, reason)
        metrics.whole.observe(seconds, seen.model)
    log.info(
        "request",
        extra={
            "provider": settings.provider,
            "instance": settings.instance,
            "request_id": seen.request_id,
            "path": seen.path,
            "model": seen.model,
            "status": seen.status,
            "outcome": seen.outcome,
            "fault": seen.fault,
            "tokens_in": seen.tokens_in,
            "tokens_out": seen.tokens_out,
            "first_token_ms": None if seen.first_token_s is None else round(seen.first_token_s * 1000, 1),
            "duration_ms": round(seconds * 1000, 1),
        },
    )
