"""Refuses a body over the bound by its declared length, 413, before a byte is read; bounds the others as they
arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edge.chain import Exchange, Response, Traits, refuse
from edge.config.strict import Strict
from edge.setup import Setup


class Options(Strict):
    max_bytes: Annotated[int, Field(ge=0, le=1 << 30)]


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """max_bytes: the largest body let through, inclusive."""

    max_bytes: int

    config = Options
    traits = Traits()

    @classmethod
    def build(cls, options: Options, _: Setup) -> BodyLimit:
        return cls(options.max_bytes)

    def on_head(self, exchange: Exchange) -> Response | None:
        if exchange.request.declared_length > self.max_bytes:
            return refuse(exchange, 413, "request_too_large")
        exchange.bound_body(self.max_bytes)
        return None
