"""Options of `json_body_field`, as in `edge.filters.json_body_field`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from edge.config.fields import HeaderName
from edge.config.strict import Strict


class Pair(Strict):
    field: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
    header: HeaderName


class Options(Strict):
    """field and header, or several of them as fields. required: a request that has a body must have the
    field. max_body_bytes: tightens the body bound, since the whole body is read before its field can be
    found."""

    field: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = None
    header: HeaderName | None = None
    fields: list[Pair] = Field(default_factory=list)
    required: bool = True
    max_body_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 10 * 1024 * 1024

    @model_validator(mode="after")
    def _one_form(self) -> Options:
        if (self.field is None) != (self.header is None) or (self.field is None) == (not self.fields):
            raise ValueError("needs field and header, or fields")
        return self

    @property
    def pairs(self) -> list[Pair]:
        if self.field is not None and self.header is not None:
            return [Pair(field=self.field, header=self.header)]
        return self.fields
