"""Adds, sets and removes header fields of requests and answers, as configured."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, model_validator

from edge.chain import Exchange, Reply, Response, Traits
from edge.config.fields import HeaderField, HeaderName
from edge.config.strict import Strict
from edge.setup import Setup

Pairs = tuple[tuple[bytes, bytes], ...]


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


@dataclass(frozen=True, slots=True, repr=False)
class Headers:
    """Without a repr: a value may be a secret."""

    request_add: Pairs
    request_set: Pairs
    request_remove: tuple[bytes, ...]
    response_add: Pairs
    response_set: Pairs
    response_remove: tuple[bytes, ...]

    config = Options
    traits = Traits()

    @classmethod
    def build(cls, options: Options, _: Setup) -> Headers:
        def pairs(fields: list[HeaderField]) -> Pairs:
            return tuple(field.pair for field in fields)

        def names(given: list[str]) -> tuple[bytes, ...]:
            return tuple(name.lower().encode() for name in given)

        return cls(
            pairs(options.request_add),
            pairs(options.request_set),
            names(options.request_remove),
            pairs(options.response_add),
            pairs(options.response_set),
            names(options.response_remove),
        )

    def on_head(self, exchange: Exchange) -> Response | None:
        fields = exchange.request.fields
        for name in self.request_remove:
            fields.pop(name, None)
        for name, value in self.request_set:
            fields[name] = value
        for name, value in self.request_add:
            before = fields.get(name)
            fields[name] = value if before is None else before + b", " + value
        return None

    def on_reply(self, _: Exchange, reply: Reply) -> None:
        for name in self.response_remove:
            reply.remove(name)
        for name, value in self.response_set:
            reply.set(name, value)
        reply.fields.extend(self.response_add)
