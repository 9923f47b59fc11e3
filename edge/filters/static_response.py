"""Answers with what is written in the configuration, and lets nothing through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Response, Traits
from edge.filters.options.static_response import Options
from edge.setup import Setup


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(ends=True)


@dataclass(frozen=True, slots=True)
class StaticResponse(_Kind):
    response: Response

    @classmethod
    def build(cls, options: Options, _: Setup) -> StaticResponse:
        fields = tuple(field.pair for field in options.headers)
        return cls(Response(options.status, options.body.encode(), fields))

    def on_head(self, _: Exchange) -> Response | None:
        return self.response
