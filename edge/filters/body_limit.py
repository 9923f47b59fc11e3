"""Refuses a body over the bound by its declared length, 413, before a byte is read; bounds the others as they
arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.body_limit import Options
from edge.setup import Setup


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits()


@dataclass(frozen=True, slots=True)
class BodyLimit(_Kind):
    """max_bytes: the largest body let through, inclusive."""

    max_bytes: int

    @classmethod
    def build(cls, options: Options, _: Setup) -> BodyLimit:
        return cls(options.max_bytes)

    def on_head(self, exchange: Exchange) -> Response | None:
        if exchange.request.declared_length > self.max_bytes:
            return refuse(exchange, 413, "request_too_large")
        if self.max_bytes < exchange.body_limit:  # noqa: PLR1730 - as bound_body, without its call
            exchange.body_limit = self.max_bytes
        return None
