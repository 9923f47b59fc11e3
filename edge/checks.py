"""Runs health checks against clusters, and lets real requests speak too.

The shell round `edge.health`: it probes, it listens to outcomes, and it sets `Endpoint.healthy`, which the
pool reads. What a number of failures means is decided there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from edge.health import Health, Thresholds, observe
from edge.wire.pool import Cluster, Endpoint
from edge.wire.probe import answers_http, answers_tcp


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """type: how to probe; None probes never, for passive checks alone. interval_s: from the end of one probe
    to the next. active, passive: how many observations in a row change the state."""

    type: Literal["http", "tcp"] | None = "http"
    path: str = "/"
    expected_status: int = 200
    interval_s: float = 5.0
    timeout_s: float = 2.0
    active: Thresholds = Thresholds()  # noqa: RUF009 - a frozen value
    passive: Thresholds = Thresholds(None, None)  # noqa: RUF009 - a frozen value


class HealthCheck:
    """One cluster's checks. on_change: told (cluster, endpoint) after `endpoint.healthy` changed."""

    def __init__(
        self,
        cluster: Cluster,
        settings: CheckSettings,
        on_change: Callable[[Cluster, Endpoint], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._on_change = on_change
        self._health = {id(endpoint): Health(endpoint.healthy) for endpoint in cluster.endpoints}
        if settings.passive != Thresholds(None, None):
            cluster.watchers.append(self._outcome)

    async def run(self) -> None:
        """Probe every endpoint until cancelled."""
        if self._settings.type is None:
            return
        async with asyncio.TaskGroup() as group:
            for endpoint in self._cluster.endpoints:
                group.create_task(self._watch(endpoint))

    async def _watch(self, endpoint: Endpoint) -> None:
        while True:
            self._observe(endpoint, await self._probe(endpoint), self._settings.active)
            await asyncio.sleep(self._settings.interval_s)

    async def _probe(self, endpoint: Endpoint) -> bool:
        settings, tls = self._settings, self._cluster.tls
        if settings.type == "tcp":
            return await answers_tcp(endpoint, settings.timeout_s, tls)
        return await answers_http(
            endpoint,
            settings.timeout_s,
            path=settings.path,
            expected_status=settings.expected_status,
            tls=tls,
        )

    def _outcome(self, endpoint: Endpoint, ok: bool) -> None:
        self._observe(endpoint, ok, self._settings.passive)

    def _observe(self, endpoint: Endpoint, ok: bool, thresholds: Thresholds) -> None:
        health = observe(self._health[id(endpoint)], ok, thresholds)
        self._health[id(endpoint)] = health
        if health.healthy != endpoint.healthy:
            endpoint.healthy = health.healthy
            if self._on_change is not None:
                self._on_change(self._cluster, endpoint)
