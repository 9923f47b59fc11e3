"""Probes and scrapes of this cluster's providers, each on its own, with a deadline and a bound on its body.

A provider that hangs, lies or sends a gigabyte costs its own round and nobody else's. What was found becomes
Health and Readings, which the World holds; what they mean is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

import aiohttp

from grid.crd.base import EndpointTls
from grid.crd.durations import seconds
from grid.crd.network import GridNetwork
from grid.crd.provider import InferenceProvider, MetricsConfig
from grid.reconcile.exposition import MAX_BYTES, Scraped, ScrapeReason, ScrapeRejected, read_exposition
from grid.reconcile.identity import Identity
from grid.reconcile.latency import Latency
from grid.reconcile.tasks import Rounds
from grid.reconcile.world import Reading
from grid.scoring.health import Health, Phase, Thresholds, Verdict, probed, unknown

log = logging.getLogger(__name__)
HEALTH_EVERY_S = 5.0
HEALTH_TIMEOUT_S = 5.0
SCRAPE_EVERY_S = 15.0
SCRAPE_TIMEOUT_S = 2.0
# What is parsed off the event loop: below it, handing over costs more than parsing.
_LARGE = 64 * 1024
_REDIRECTS = 300
# So many scrapes in a row that failed are a condition of their provider.
_OF_LATE = 3
_UNANSWERED = (aiohttp.ClientError, TimeoutError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Probe:
    """url is asked every every_s, for at most timeout_s. config: of a scrape, None of a health probe.

    tls: the endpoint is held to the grid's CA, and shown our certificate if it says so. None: the resource
    asks for neither, and this machine's own CAs count.
    """

    url: str
    every_s: float
    timeout_s: float
    thresholds: Thresholds = field(default_factory=Thresholds)
    config: MetricsConfig | None = None
    judges_health: bool = True
    tls: EndpointTls | None = None


def plans(
    providers: Iterable[InferenceProvider], networks: Mapping[str, GridNetwork]
) -> dict[tuple[str, str], Probe]:
    """What is to be asked, by (provider, `health` or `metrics`)."""
    found: dict[tuple[str, str], Probe] = {}
    for provider in providers:
        name, check, config = provider.metadata.name, provider.spec.health_check, provider.spec.metrics_config
        if check is not None:
            found[name, "health"] = Probe(
                url=_url(check.endpoint or provider.spec.endpoint, check.path or "/health"),
                every_s=seconds(check.interval, HEALTH_EVERY_S),
                timeout_s=seconds(check.timeout, HEALTH_TIMEOUT_S),
                thresholds=Thresholds(check.failure_threshold, check.success_threshold),
                tls=check.tls,
            )
        if config is not None:
            network = networks.get(provider.spec.grid_network_ref)
            found[name, "metrics"] = Probe(
                url=_url(config.metrics_endpoint or provider.spec.endpoint, config.path),
                every_s=seconds(network.spec.metrics_refresh_interval if network else None, SCRAPE_EVERY_S),
                timeout_s=seconds(config.timeout, SCRAPE_TIMEOUT_S),
                config=config,
                judges_health=check is None,
                tls=config.tls,
            )
    return found


def session() -> aiohttp.ClientSession:
    """What providers are asked with: many connections, no cookies, no proxies, bodies as they come."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=256),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
    )


def _url(base: str, path: str) -> str:
    return base.rstrip("/") + "/" + path.lstrip("/")


@dataclass(slots=True)
class Prober:
    """health, readings, latencies: by provider. now: Unix seconds.

    changed: called when something new is known.
    scraped: called with each scrape's outcome, for counting.
    failing: why a provider's scrapes fail, and how many have in a row; by provider.
    identity: what probes over the grid's TLS use; one that needs it and has none does not answer.
    """

    http: aiohttp.ClientSession
    now: Callable[[], float]
    changed: Callable[[], None]
    random: Callable[[], float]
    scraped: Callable[[str], None] = lambda outcome: None  # noqa: ARG005 (nobody counts)
    identity: Identity | None = None
    failing: dict[str, tuple[str, int]] = field(default_factory=dict)
    health: dict[str, Health] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    latencies: dict[str, Latency] = field(default_factory=dict)
    _rounds: Rounds[tuple[str, str], Probe] = field(init=False)
    _asked: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._rounds = Rounds(self._round, lambda probe: probe.every_s, self.random)

    def keep(self, group: asyncio.TaskGroup, wanted: Mapping[tuple[str, str], Probe]) -> None:
        """Asks what *wanted* says from now on; forgets providers that are not in it."""
        self._rounds.keep(group, wanted)
        names = {name for name, _ in wanted}
        for known in (self.health, self.readings, self.latencies, self.failing):
            for name in known.keys() - names:
                del known[name]
        self._asked &= wanted.keys()

    def stop(self) -> None:
        self._rounds.stop()

    def heard(self) -> bool:
        """Whether everything that is to be asked has been asked once."""
        return self._asked.issuperset(self._rounds.keys())

    async def _round(self, key: tuple[str, str], probe: Probe) -> None:
        name = key[0]
        before = self._known(name), key in self._asked
        if probe.config is None:
            self._judge(name, await self._answers(probe), probe)
        else:
            await self._scrape(name, probe, probe.config)
        self._asked.add(key)
        if before != (self._known(name), True):
            self.changed()

    def unread(self) -> dict[str, str]:
        """Why nothing was read of late, by provider; one scrape that fails is nobody's news."""
        return {name: why for name, (why, times) in self.failing.items() if times >= _OF_LATE}

    def _known(self, name: str) -> tuple[Phase | None, int, bool]:
        """What others act on: a streak that goes on is no news."""
        health, reading = self.health.get(name), self.readings.get(name)
        failed = self.failing.get(name, ("", 0))[1] >= _OF_LATE
        return health.phase if health else None, reading.number if reading else 0, failed

    async def _answers(self, probe: Probe) -> Verdict:
        try:
            async with asyncio.timeout(probe.timeout_s), self._ask(probe) as answer:
                return Verdict.OK if answer.status < _REDIRECTS else Verdict.ERROR
        except _UNANSWERED:
            return Verdict.NO_ANSWER

    async def _scrape(self, name: str, probe: Probe, config: MetricsConfig) -> None:
        try:
            async with asyncio.timeout(probe.timeout_s):
                found = await self._read(probe, config)
        except ScrapeRejected as refused:
            self._failed(name, refused.reason)
            self._judge(name, Verdict.ERROR, probe)
            return
        except _UNANSWERED:
            self._failed(name, "no_answer")
            self._judge(name, Verdict.NO_ANSWER, probe)
            return
        self.scraped("ok")
        self.failing.pop(name, None)
        self._read_off(name, found)
        self._judge(name, Verdict.ERROR if found.healthy is False else Verdict.OK, probe)

    def _failed(self, name: str, why: str) -> None:
        self.scraped(why)
        self.failing[name] = (why, self.failing.get(name, ("", 0))[1] + 1)

    def _read_off(self, name: str, found: Scraped) -> None:
        """The reading of a scrape. What the exporter measured before counts from then, and once."""
        before, now, signals = self.readings.get(name), self.now(), found.signals
        if found.buckets:
            latency = self.latencies.get(name, Latency()).seen(found.buckets, now)
            self.latencies[name] = latency
            signals = replace(signals, p99_ms=latency.p99)
        at = now if found.sampled_at is None else min(now, found.sampled_at)
        if before is None or found.sampled_at is None or before.at != at:
            self.readings[name] = Reading(before.number + 1 if before else 1, at, signals)

    async def _read(self, probe: Probe, config: MetricsConfig) -> Scraped:
        async with self._ask(probe) as answer:
            if answer.status >= _REDIRECTS:
                raise ScrapeRejected(ScrapeReason.REFUSED)
            body = bytearray()
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ScrapeRejected(ScrapeReason.OVERSIZED)
        if len(body) > _LARGE:
            return await asyncio.to_thread(read_exposition, bytes(body), config)
        return read_exposition(bytes(body), config)

    def _ask(self, probe: Probe) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Never where a redirect points: a provider does not choose what this process asks."""
        return self.http.get(probe.url, allow_redirects=False, ssl=self._context(probe.tls))

    def _context(self, tls: EndpointTls | None) -> ssl.SSLContext | bool:
        """Raises OSError where the grid's TLS is asked for and our files make none."""
        if tls is None:
            return True
        if self.identity is None:
            raise FileNotFoundError("no identity")
        return self.identity.context(check_name=True, show=tls.client_certificate_secret_ref is not None)

    def _judge(self, name: str, verdict: Verdict, probe: Probe) -> None:
        if probe.judges_health:
            before = self.health.get(name) or unknown(self.now())
            self.health[name] = probed(before, verdict, probe.thresholds, self.now())
