"""Adds, sets and removes header fields of requests and answers, as configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits
from edge.config.fields import HeaderField
from edge.filters.options.headers import Options
from edge.setup import Setup

Pairs = tuple[tuple[bytes, bytes], ...]


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits()


@dataclass(frozen=True, slots=True, repr=False)
class Headers(_Kind):
    """Without a repr: a value may be a secret."""

    request_add: Pairs
    request_set: Pairs
    request_remove: tuple[bytes, ...]
    response_add: Pairs
    response_set: Pairs
    response_remove: tuple[bytes, ...]

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
