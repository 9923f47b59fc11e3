"""Options of `static_response`, as in `edge.filters.static_response`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from edge.config.fields import HeaderField
from edge.config.strict import Strict


class Options(Strict):
    status: Annotated[int, Field(ge=200, le=599)]
    headers: list[HeaderField] = Field(default_factory=list)
    body: Annotated[str, Field(max_length=1 << 20)] = ""
