"""Gives a request so long to get an answer's head from its upstream; then the upstream is let go and the
client gets 504.

It does not bound the stream after the head: that is the cluster's `read_timeout_ms` and `total_timeout_ms`.
"""

from __future__ import annotations

from dataclasses import dataclass

from edge.chain import Exchange, Response, Traits
from edge.config.model import Millis
from edge.config.strict import Strict
from edge.setup import Setup


class Options(Strict):
    timeout_ms: Millis


@dataclass(frozen=True, slots=True)
class Timeout:
    seconds: float

    config = Options
    traits = Traits()

    @classmethod
    def build(cls, options: Options, _: Setup) -> Timeout:
        return cls(options.timeout_ms / 1000)

    def on_head(self, exchange: Exchange) -> Response | None:
        """Of several, the shortest holds."""
        given = exchange.first_byte_s
        exchange.first_byte_s = self.seconds if given is None else min(given, self.seconds)
        return None
