"""Answers with what is written in the configuration, and lets nothing through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edge.chain import Exchange, Response, Traits
from edge.config.fields import HeaderField
from edge.config.strict import Strict
from edge.setup import Setup


class Options(Strict):
    status: Annotated[int, Field(ge=200, le=599)]
    headers: list[HeaderField] = Field(default_factory=list)
    body: Annotated[str, Field(max_length=1 << 20)] = ""


@dataclass(frozen=True, slots=True)
class StaticResponse:
    response: Response

    config = Options
    traits = Traits(ends=True)

    @classmethod
    def build(cls, options: Options, _: Setup) -> StaticResponse:
        fields = tuple(field.pair for field in options.headers)
        return cls(Response(options.status, options.body.encode(), fields))

    def on_head(self, _: Exchange) -> Response | None:
        return self.response
