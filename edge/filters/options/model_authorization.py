"""Options of `model_authorization`, as in `edge.filters.model_authorization`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from edge.config.strict import Strict

Pattern = Annotated[str, Field(min_length=1, max_length=256)]


class Options(Strict):
    """tenants: tenant -> patterns, in which `*` stands for any characters. default: for tenants not
    listed."""

    tenants: dict[str, list[Pattern]] = Field(default_factory=dict)
    default: list[Pattern] = Field(default_factory=list)
