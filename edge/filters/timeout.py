"""Gives a request so long to get an answer's head from its upstream; then the upstream is let go and the
client gets 504.

It does not bound the stream after the head: that is the cluster's `read_timeout_ms` and `total_timeout_ms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edge.chain import Exchange, Response, Traits
from edge.filters.options.timeout import Options
from edge.setup import Setup


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits()


@dataclass(frozen=True, slots=True)
class Timeout(_Kind):
    seconds: float

    @classmethod
    def build(cls, options: Options, _: Setup) -> Timeout:
        return cls(options.timeout_ms / 1000)

    def on_head(self, exchange: Exchange) -> Response | None:
        """Of several, the shortest holds."""
        given = exchange.first_byte_s
        exchange.first_byte_s = self.seconds if given is None else min(given, self.seconds)
        return None
