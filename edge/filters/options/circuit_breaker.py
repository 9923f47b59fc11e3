"""Options of `circuit_breaker`, as in `edge.filters.circuit_breaker`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from edge.config.strict import Strict
from edge.wire.breaker import BreakerSettings


class Guarded(Strict):
    """half_open_timeout_secs: a probe that has not ended by then no longer stands in the way of another."""

    name: str
    consecutive_failures: Annotated[int, Field(ge=1)]
    recovery_window_secs: Annotated[int, Field(ge=1, le=86_400)]
    half_open_timeout_secs: Annotated[int, Field(ge=1, le=86_400)] = 30

    @property
    def settings(self) -> BreakerSettings:
        return BreakerSettings(
            self.consecutive_failures, self.recovery_window_secs, self.half_open_timeout_secs
        )


class Options(Strict):
    clusters: Annotated[list[Guarded], Field(min_length=1)]
