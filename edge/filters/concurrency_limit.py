"""Bounds requests in progress, together and per tenant: what a rate cannot do for answers that take minutes.

A place is held from the head to the end of the answer, whatever ends it.
"""

from __future__ import annotations

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
    options: Options
    places: Places
    traits: Traits

    @classmethod
    def build(cls, options: Options, setup: Setup) -> ConcurrencyLimit:
        reads = frozenset({"tenant"}) if options.max_per_tenant is not None else frozenset[str]()
        return cls(options, setup.kept.keep(setup.place, Places, Places), Traits(reads=reads))

    def on_head(self, exchange: Exchange) -> Response | None:
        own, places = self.options, self.places
        full = own.max_requests is not None and len(places.held) >= own.max_requests
        if not full and own.max_per_tenant is not None:
            full = places.by_tenant.get(exchange.tenant or "", 0) >= own.max_per_tenant
        if full:
            return refuse(exchange, 429, "concurrency_limit_exceeded", retry_after_s=own.retry_after_secs)
        tenant = exchange.tenant or ""
        places.held[exchange] = tenant
        places.by_tenant[tenant] = places.by_tenant.get(tenant, 0) + 1
        return None

    def on_end(self, exchange: Exchange) -> None:
        tenant = self.places.held.pop(exchange, None)
        if tenant is None:
            return
        by_tenant = self.places.by_tenant
        by_tenant[tenant] -= 1
        if not by_tenant[tenant]:
            del by_tenant[tenant]
