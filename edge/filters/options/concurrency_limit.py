"""Options of `concurrency_limit`, as in `edge.filters.concurrency_limit`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from edge.config.strict import Strict


class Options(Strict):
    max_requests: Annotated[int, Field(ge=1)] | None = None
    max_per_tenant: Annotated[int, Field(ge=1)] | None = None
    retry_after_secs: Annotated[int, Field(ge=1, le=3600)] = 1

    @model_validator(mode="after")
    def _something(self) -> Options:
        if self.max_requests is None and self.max_per_tenant is None:
            raise ValueError("needs max_requests or max_per_tenant")
        return self
