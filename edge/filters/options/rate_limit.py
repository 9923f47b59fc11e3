"""Options of `rate_limit`, as in `edge.filters.rate_limit`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from edge.config.strict import Strict


class Options(Strict):
    """rate: requests a second. burst: the most at once. max_entries: buckets kept at most. ipv6_prefix_len:
    how much of an IPv6 address is one client; a subscriber usually has a /64."""

    mode: Literal["global", "per_ip", "per_tenant"]
    rate: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    burst: Annotated[int, Field(ge=1, le=1_000_000)]
    ipv6_prefix_len: Annotated[int, Field(ge=1, le=128)] = 64
    max_entries: Annotated[int, Field(ge=1, le=1_000_000)] = 100_000

    @model_validator(mode="after")
    def _fits(self) -> Options:
        if self.burst < self.rate:
            raise ValueError("burst must be at least rate")
        return self
