"""Token buckets: so many requests a second with some burst, for everybody together, per address or per
tenant.

A bucket is two numbers, filled by the clock when it is looked at. The tables are bounded: buckets that have
filled up again say nothing and are dropped; when still too many are left, newcomers are refused rather than
old ones forgotten, since forgetting would give whoever fills the table a fresh start. They outlive a reload.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Reply, Response, Traits, refuse
from edge.config.networks import parse
from edge.filters.options.rate_limit import Options
from edge.setup import Setup
from edge.wire.messages import Beginning

_SWEEP_S = 1.0
_LIMIT, _REMAINING, _RESET = b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset"
_UPSTREAMS = Beginning(b"x-ratelimit-")


@dataclass(slots=True)
class Buckets:
    """key -> [tokens left, when that was]."""

    rows: dict[str, list[float]] = field(default_factory=dict)
    swept_at: float = 0.0

    def take(self, key: str, rate: float, burst: float, most: int, now: float) -> float:
        """Tokens left after taking one; below 0 when there was none, by how much. -inf: the table is full."""
        row = self.rows.get(key)
        if row is None:
            if len(self.rows) >= most and not self._make_room(rate, burst, most, now):
                return -math.inf
            row = self.rows[key] = [burst, now]
        left = row[0] + (now - row[1]) * rate
        if left > burst:  # noqa: PLR1730 - min() costs three times as much
            left = burst
        row[1] = now
        if left < 1:
            row[0] = left
            return left - 1
        row[0] = left - 1
        return row[0]

    def _make_room(self, rate: float, burst: float, most: int, now: float) -> bool:
        """Drops buckets that are full again, at most once a second; whether there is room now."""
        if now - self.swept_at >= _SWEEP_S:
            self.swept_at = now
            full = [key for key, row in self.rows.items() if row[0] + (now - row[1]) * rate >= burst]
            for key in full:
                del self.rows[key]
        return len(self.rows) < most


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options


@dataclass(slots=True)
class RateLimit(_Kind):
    """per_tenant, per_ip: whose bucket a request takes from; with neither, all share one. spare_bits: of an
    IPv6 address, which do not tell clients apart. limit: the burst, as a header says it. reset: what a header
    says until the present second of `wall` is over, made once for all requests in it; reset_at: its end."""

    rate: float
    burst: int
    most: int
    buckets: Buckets
    per_tenant: bool
    per_ip: bool
    spare_bits: int
    limit: tuple[bytes, bytes]
    wall: Callable[[], float]
    traits: Traits
    reset_at: int = 0
    reset: tuple[bytes, bytes] = (_RESET, b"0")

    @classmethod
    def build(cls, options: Options, setup: Setup) -> RateLimit:
        return cls(
            options.rate,
            options.burst,
            options.max_entries,
            setup.kept.keep(f"{setup.place}/{options.mode}", Buckets, Buckets),
            options.mode == "per_tenant",
            options.mode == "per_ip",
            128 - options.ipv6_prefix_len,
            (_LIMIT, b"%d" % options.burst),
            setup.wall,
            Traits(reads=frozenset({"tenant"}) if options.mode == "per_tenant" else frozenset()),
        )

    def on_head(self, exchange: Exchange) -> Response | None:
        key = (exchange.tenant or "") if self.per_tenant else self._key(exchange)
        left = self.buckets.take(key, self.rate, self.burst, self.most, exchange.started_at)
        if left >= 0:
            return None
        wait_s = 1 if math.isinf(left) else max(1, math.ceil(-left / self.rate))
        return refuse(exchange, 429, "rate_limit_exceeded", retry_after_s=wait_s)

    def on_reply(self, exchange: Exchange, reply: Reply) -> None:
        """Says what is left now; it may be less than this request left, when others came meanwhile."""
        key = (exchange.tenant or "") if self.per_tenant else self._key(exchange)
        row = self.buckets.rows.get(key)
        theirs = _UPSTREAMS[reply.received]
        if theirs:
            reply.fields = [pair for pair in reply.fields if pair[0] not in theirs]
        for name, _ in reply.fields:
            if name == _LIMIT:  # another limiter's, of this chain
                for own in (_LIMIT, _REMAINING, _RESET):
                    reply.remove(own)
                break
        left = 0.0 if row is None or row[0] < 0 else row[0]
        full_at = self.wall() + (self.burst - left) / self.rate
        if not self.reset_at - 1 < full_at <= self.reset_at:
            self.reset_at = math.ceil(full_at)
            self.reset = (_RESET, b"%d" % self.reset_at)
        reply.fields += self.limit, (_REMAINING, b"%d" % left), self.reset

    def _key(self, exchange: Exchange) -> str:
        """Of the other two modes."""
        return _client(exchange.address, self.spare_bits) if self.per_ip else ""


def _client(text: str, bits: int) -> str:
    """IPv4 as it is; IPv6 without its last *bits*. Addresses that do not read share one bucket."""
    if ":" not in text:
        return text
    address = parse(text)
    if address is None or address.version == 4:
        return str(address or "")
    return f"{int(address) >> bits:x}"
