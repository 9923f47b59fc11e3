"""Bounds requests in progress, together and per tenant: what a rate cannot do for answers that take minutes.

A place is held from the head to the end of the answer, whatever ends it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.concurrency_limit import Options
from edge.setup import Setup


@dataclass(slots=True)
class Places:
    """held: who holds a place -> its tenant. by_tenant: how many each holds. Kept over a reload: streams
    outlive it."""

    held: dict[Exchange, str] = field(default_factory=dict)
    by_tenant: dict[str, int] = field(default_factory=dict)


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options


@dataclass(frozen=True, slots=True)
class ConcurrencyLimit(_Kind):
    """most, most_per_tenant: as many as a process can count where there is no bound."""

    most: int
    most_per_tenant: int
    retry_after_s: int
    places: Places
    traits: Traits

    @classmethod
    def build(cls, options: Options, setup: Setup) -> ConcurrencyLimit:
        reads = frozenset({"tenant"}) if options.max_per_tenant is not None else frozenset[str]()
        return cls(
            options.max_requests or sys.maxsize,
            options.max_per_tenant or sys.maxsize,
            options.retry_after_secs,
            setup.kept.keep(setup.place, Places, Places),
            Traits(reads=reads),
        )

    def on_head(self, exchange: Exchange) -> Response | None:
        held, by_tenant = self.places.held, self.places.by_tenant
        tenant = exchange.tenant or ""
        own = by_tenant.get(tenant, 0)
        if own >= self.most_per_tenant or len(held) >= self.most:
            return refuse(exchange, 429, "concurrency_limit_exceeded", retry_after_s=self.retry_after_s)
        held[exchange] = tenant
        by_tenant[tenant] = own + 1
        return None

    def on_end(self, exchange: Exchange) -> None:
        tenant = self.places.held.pop(exchange, None)
        if tenant is None:
            return
        by_tenant = self.places.by_tenant
        left = by_tenant[tenant] - 1
        if left:
            by_tenant[tenant] = left
        else:
            del by_tenant[tenant]
