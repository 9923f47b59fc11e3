"""Options of `headers`, as in `edge.filters.headers`."""

from __future__ import annotations

from pydantic import Field, model_validator

from edge.config.fields import HeaderField, HeaderName
from edge.config.strict import Strict


class Options(Strict):
    """Removed first, then set, then added; `add` keeps what is there already."""

    request_add: list[HeaderField] = Field(default_factory=list)
    request_set: list[HeaderField] = Field(default_factory=list)
    request_remove: list[HeaderName] = Field(default_factory=list)
    response_add: list[HeaderField] = Field(default_factory=list)
    response_set: list[HeaderField] = Field(default_factory=list)
    response_remove: list[HeaderName] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> Options:
        if not self.model_fields_set:
            raise ValueError("changes nothing")
        return self
