"""Options of `body_limit`, as in `edge.filters.body_limit`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from edge.config.strict import Strict


class Options(Strict):
    max_bytes: Annotated[int, Field(ge=0, le=1 << 30)]
