"""Options of `access_log`, as in `edge.filters.access_log`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edge.config.strict import Strict


class Options(Strict):
    """client: how much of the client's address is kept. sample_rate: the part of requests logged; failures
    (500 and above) always are. min_duration_ms: only what took longer, and failures."""

    client: Literal["truncated", "full", "none"] = "truncated"
    sample_rate: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_duration_ms: Annotated[int, Field(ge=0)] = 0
