"""Options of `ip_acl`, as in `edge.filters.ip_acl`."""

from __future__ import annotations

from pydantic import Field, model_validator

from edge.config.networks import Cidr
from edge.config.strict import Strict


class Options(Strict):
    """With `allow`, only those; `deny` then adds nothing. Without it, all but `deny`."""

    allow: list[Cidr] = Field(default_factory=list)
    deny: list[Cidr] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> Options:
        if not self.allow and not self.deny:
            raise ValueError("needs allow or deny")
        return self
