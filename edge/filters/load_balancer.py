"""Hands the request to the live cluster the routing named; which of its endpoints is the pool's choice, at
the last moment."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.load_balancer import Options
from edge.setup import Setup
from edge.wire.pool import Cluster

__all__ = ["LoadBalancer", "Options"]


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options
    traits: ClassVar[Traits] = Traits(reads=frozenset({"cluster"}), writes=frozenset({"upstream"}))


@dataclass(frozen=True, slots=True)
class LoadBalancer(_Kind):
    """impatient: (cluster, seconds) -> the same endpoints and connections under a request's own timeout."""

    clusters: Mapping[str, Cluster]
    impatient: dict[tuple[str, float], Cluster] = field(default_factory=dict)

    @classmethod
    def build(cls, _: Options, setup: Setup) -> LoadBalancer:
        return cls(setup.clusters)

    def on_body(self, exchange: Exchange) -> Response | None:
        cluster = self.clusters.get(exchange.cluster or "")
        if cluster is None:
            return refuse(exchange, 503, "no_cluster", retry_after_s=1)
        seconds = exchange.first_byte_s
        exchange.upstream = cluster if seconds is None else self._impatient(cluster, seconds)
        return None

    def _impatient(self, cluster: Cluster, seconds: float) -> Cluster:
        """As many as there are `timeout` filters in the chain."""
        key = (cluster.name, seconds)
        found = self.impatient.get(key)
        if found is None:
            found = self.impatient[key] = copy.copy(cluster)
            within = min(seconds, cluster.timeouts.first_byte_s)
            found.timeouts = replace(cluster.timeouts, first_byte_s=within)
        return found
