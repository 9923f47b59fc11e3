"""The gateway in one process: listeners, health checks, overload, drain; and the swap to another
configuration.

    start ─► serve ─► (apply)* ─► drain ─► stopped

`apply` decides nothing: what is built is sound. It opens what is new, exchanges chains, key material and
bounds of what stays, drains what is gone. The only thing that can fail is binding an address; then the old
configuration stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field, replace
from functools import partial

from edge import overload
from edge.built import Built, Outside
from edge.checks import CheckSettings, HealthCheck
from edge.config.model import HealthCheck as CheckModel
from edge.config.model import Listener as ListenerModel
from edge.config.model import split_address
from edge.health import Thresholds
from edge.service import ChainService, Gate
from edge.tls import ListenerTls, TlsUnusable
from edge.wire.balance import panics
from edge.wire.engine import Engine
from edge.wire.limits import Limits
from edge.wire.listener import Listener
from edge.wire.pool import Cluster, Endpoint

log = logging.getLogger("edge.server")

_MEASURE_S = 0.25


@dataclass(slots=True)
class Open:
    """A listener that accepts. tls: the material behind its front."""

    model: ListenerModel
    listener: Listener
    service: ChainService
    tls: ListenerTls | None


@dataclass(slots=True)
class Server:
    """draining: readiness is withdrawn; requests are still served until `stop`."""

    engine: Engine
    outside: Outside
    built: Built | None = None
    draining: bool = False
    gate: Gate = field(default_factory=Gate)
    open: dict[str, Open] = field(default_factory=dict)
    _checks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _watch: asyncio.Task[None] | None = None

    async def start(self, built: Built) -> None:
        """Opens every listener. Raises OSError, having closed those already open, when an address is
        taken."""
        await self._group.__aenter__()
        self.outside.metrics.show_endpoints(
            lambda: self._endpoints(healthy_only=False),
            lambda: self._endpoints(healthy_only=True),
            self._panicking,
        )
        self._watch = self._group.create_task(self._measure())
        try:
            await self.apply(built)
        except OSError:
            await self.stop(0)
            raise

    async def apply(self, built: Built) -> None:
        """Takes *built* into use. Raises OSError when a new address cannot be bound; then nothing changed."""
        metrics = self.outside.metrics
        metrics.listener.admit(built.chains)
        metrics.cluster.admit(built.clusters)
        opened = await self._open_new(built)
        for name, new in opened.items():
            old = self.open.pop(name, None)
            self.open[name] = new
            if old is not None:
                self._retire(old)
        for model in built.loaded.gateway.listeners:
            if model.name not in opened:
                self._refresh(self.open[model.name], model, built)
        for name in [name for name in self.open if name not in built.chains]:
            self._retire(self.open.pop(name))
        self._exchange_clusters(built)
        self.outside.kept.end()
        if self.built is not None and self.built.loaded.gateway.admin != built.loaded.gateway.admin:
            log.warning("needs a restart", extra={"option": "admin"})
        self.built = built

    async def stop(self, within_s: float) -> None:
        """Withdraws readiness, accepts nobody, lets answers in progress end; cuts what is left after
        *within_s*."""
        self.draining = True
        if self._watch is None:
            return
        async with asyncio.TaskGroup() as group:
            drains = [group.create_task(o.listener.drain(within_s)) for o in self.open.values()]
        cut = sum(task.result() for task in drains)
        log.info("drained", extra={"count": cut})
        self.open.clear()
        for task in (*self._checks.values(), self._watch):
            task.cancel()
        self._watch = None
        await self._group.__aexit__(None, None, None)

    @property
    def closed_by(self) -> str | None:
        """Why new requests are refused; None while they are not."""
        return self.gate.closed_by

    def connections(self) -> dict[str, int]:
        """listener name -> open connections."""
        return {name: len(opened.listener.connections) for name, opened in self.open.items()}

    def reasons_not_ready(self) -> tuple[str, ...]:
        """Empty when a traffic manager may send clients here."""
        reasons = []
        if self.draining:
            reasons.append("draining")
        if self.built is None or not self.open:
            reasons.append("no listener")
        return tuple(reasons)

    async def _open_new(self, built: Built) -> dict[str, Open]:
        """Listeners that are new, or whose address or TLS changed. All of them or, after OSError, none."""
        opened: dict[str, Open] = {}
        silent: list[Open] = []
        try:
            for model in built.loaded.gateway.listeners:
                now = self.open.get(model.name)
                if now is not None and _same_socket(now.model, model):
                    continue
                if now is not None and now.model.address == model.address and now.listener.server is not None:
                    now.listener.server.close()  # the address is wanted again; its connections live on
                    silent.append(now)
                opened[model.name] = await self._listen(model, built)
        except OSError:
            for new in opened.values():
                new.listener.close()
            await self._speak_again(silent)
            raise
        return opened

    async def _speak_again(self, silent: list[Open]) -> None:
        """Listeners that made room for others which then could not all be opened: as they were."""
        for old in silent:
            if self.built is not None:
                with contextlib.suppress(OSError):
                    self.open[old.model.name] = await self._listen(old.model, self.built)
                    self._retire(old)

    async def _listen(self, model: ListenerModel, built: Built) -> Open:
        host, port = split_address(model.address)
        outside = self.outside
        service = ChainService(
            built.chains[model.name], self.engine.now, self.gate, outside.metrics, model.name
        )
        tls = built.tls.get(model.name)
        if tls is not None:
            tls.untrusted = partial(outside.metrics.trust_failures.add, "peer")
        listener = await self.engine.listen(
            service,
            host,
            port,
            limits=_limits(model, built),
            tls=tls.context if tls else None,
            vets=tls.vets if tls else None,
            max_connections=model.max_connections,
        )
        log.info("listening", extra={"listener": model.name, "address": host, "port": listener.port})
        return Open(model, listener, service, tls)

    def _refresh(self, kept: Open, model: ListenerModel, built: Built) -> None:
        """A listener that stays: another chain, other bounds, renewed certificates."""
        kept.service.chain = built.chains[model.name]
        kept.listener.limits = _limits(model, built)
        kept.listener.max_connections = model.max_connections
        kept.model = model
        if kept.tls is not None and model.tls is not None and model.tls.hot_reload:
            try:
                kept.tls.reload()
            except TlsUnusable as unusable:  # replaced between the check and now; the next event comes
                log.warning("certificate kept", extra={"listener": model.name, "file": unusable.what})

    def _retire(self, old: Open) -> None:
        within_s = self.built.loaded.gateway.shutdown_timeout_secs if self.built else 0
        self._group.create_task(_drain(old.listener, within_s))

    def _exchange_clusters(self, built: Built) -> None:
        before = self.built.clusters if self.built else {}
        for name, live in built.clusters.items():
            live.take_over()
            live.cluster.connected = self.outside.metrics.connect.cell(name)
            if name in before and before[name].cluster is live.cluster:
                continue
            self._stop_check(name)
            if live.model.health_check is not None:
                check = HealthCheck(live.cluster, _check_settings(live.model.health_check), _log_health)
                self._checks[name] = self._group.create_task(check.run())
        for name, live in before.items():
            if name not in built.clusters:
                self._stop_check(name)
            if name not in built.clusters or built.clusters[name].cluster is not live.cluster:
                live.cluster.close()

    def _endpoints(self, *, healthy_only: bool) -> dict[tuple[str, ...], float]:
        return {
            (name,): sum(e.healthy or not healthy_only for e in live.cluster.endpoints)
            for name, live in (self.built.clusters if self.built else {}).items()
        }

    def _panicking(self) -> dict[tuple[str, ...], float]:
        clusters = self.built.clusters if self.built else {}
        return {(name,): float(live.cluster.panicking) for name, live in clusters.items()}

    def _stop_check(self, name: str) -> None:
        check = self._checks.pop(name, None)
        if check is not None:
            check.cancel()

    async def _measure(self) -> None:
        """Keeps the gate's verdict fresh."""
        while True:
            if self.built is not None:
                connections = sum(self.connections().values())
                load = overload.measure(connections)
                self.outside.metrics.open_fds.set(load.descriptors)
                self.outside.metrics.resident_bytes.set(load.memory)
                closed_by = overload.verdict(load, overload.ceilings(self.built.loaded.gateway.runtime))
                if closed_by != self.gate.closed_by:
                    log.warning("overload", extra={"state": closed_by or "over"})
                self.gate.closed_by = closed_by
            await asyncio.sleep(_MEASURE_S)


async def _drain(listener: Listener, within_s: float) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await listener.drain(within_s)


def _same_socket(before: ListenerModel, after: ListenerModel) -> bool:
    return before.address == after.address and before.tls == after.tls


def _limits(model: ListenerModel, built: Built) -> Limits:
    limits = replace(Limits(), body_bytes=built.loaded.gateway.body_limits.max_request_bytes)
    if model.downstream_read_timeout_ms is not None:
        limits = replace(limits, body_idle_s=model.downstream_read_timeout_ms / 1000)
    if model.downstream_keepalive_timeout_ms is not None:
        limits = replace(limits, keepalive_s=model.downstream_keepalive_timeout_ms / 1000)
    return limits


def _check_settings(model: CheckModel) -> CheckSettings:
    return CheckSettings(
        model.type,
        model.path,
        model.expected_status,
        model.interval_ms / 1000,
        model.timeout_ms / 1000,
        Thresholds(model.unhealthy_threshold, model.healthy_threshold),
        Thresholds(model.passive_unhealthy_threshold, model.passive_healthy_threshold),
    )


def _log_health(cluster: Cluster, endpoint: Endpoint) -> None:
    state = "healthy" if endpoint.healthy else "unhealthy"
    log.warning("endpoint health", extra={"cluster": cluster.name, "upstream": str(endpoint), "state": state})
    healthy = sum(e.healthy for e in cluster.endpoints)
    before = healthy - 1 if endpoint.healthy else healthy + 1
    if panics(before, len(cluster.endpoints), cluster.panic_percent) != cluster.panicking:
        state = "on" if cluster.panicking else "off"
        log.warning("panic mode", extra={"cluster": cluster.name, "state": state})
