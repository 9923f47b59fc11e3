"""Keeps a relay for each address and port on which a Service is reached: the shell of `frontends.py`.

A relay without ready endpoints has no listener, so that its clients are refused at once. An address that
cannot be listened on is said once on its Service, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.values import Event, Json
from forge.embedded.lb import balancer, frontends, pools
from forge.embedded.lb.frontends import Address, Frontend
from forge.embedded.lb.interface import Interface
from forge.embedded.lb.udp import UdpRelay
from forge.embedded.node.objects import SERVICES, SLICES, Objects, name_of
from forge.embedded.node.recorder import Recorder
from forge.embedded.process.relay import Relay

log = logging.getLogger(__name__)
_RETRY_S = 2.0


@dataclass(slots=True)
class Proxy:
    """The controller. node: the address on which node ports are listened for. interface: where
    load-balancer addresses are put; None where they are loopback ones."""

    cluster: Cluster
    loop: asyncio.AbstractEventLoop
    node: str
    pool: str = ""
    interface: Interface | None = None
    name: str = "proxy"
    settle_s: float = 0.0
    _relays: dict[Frontend, Relay | UdpRelay] = field(default_factory=dict)
    _leads: dict[Frontend, tuple[Address, ...]] = field(default_factory=dict)
    _said: set[Frontend] = field(default_factory=set)

    def wants(self, event: Event) -> bool:
        kinds = (SERVICES, SLICES, balancer.POOLS, balancer.ADVERTISEMENTS)
        return event.record.key.resource in kinds

    def step(self) -> float | None:
        objects = Objects(self.cluster, self.name)
        present = balancer.known(self.cluster, pools.parse_pool(self.pool))
        services = objects.all(SERVICES)
        wanted = frontends.frontends(services, objects.all(SLICES), present, self.node)
        for gone in [f for f in self._relays if f not in wanted]:
            self._relays.pop(gone).close()
            self._leads.pop(gone, None)
            self._said.discard(gone)
        self._hold(services, present)
        failed = [f for f, (leads, service) in wanted.items() if not self._lead(f, leads, service)]
        return _RETRY_S if failed else None

    def close(self) -> None:
        for relay in self._relays.values():
            relay.close()
        self._relays.clear()
        if self.interface is not None:
            self.interface.hold(())

    def _hold(self, services: Sequence[Json], present: Sequence[pools.Pool]) -> None:
        """Puts the addresses where they are to be; what cannot be put there cannot be listened on."""
        if self.interface is None:
            return
        wanted = [address for service in services for address in frontends.balanced(service, present)]
        for address, why in self.interface.hold(wanted).items():
            log.warning("address not put on the interface", extra={"address": address, "reason": why})

    def _lead(self, frontend: Frontend, leads: tuple[Address, ...], service: Json) -> bool:
        """Whether it leads there now."""
        if self._leads.get(frontend) == leads:
            return True
        relay = self._relays.get(frontend)
        if relay is None:
            relay = self._relays[frontend] = self._relay(frontend)
        try:
            relay.set_endpoints(leads)
        except OSError as error:
            self._leads.pop(frontend, None)
            self._complain(frontend, service, error)
            return False
        self._leads[frontend] = leads
        self._said.discard(frontend)
        return True

    def _relay(self, frontend: Frontend) -> Relay | UdpRelay:
        listen = (frontend.address, frontend.port)
        return UdpRelay(self.loop, listen) if frontend.protocol == "UDP" else Relay(self.loop, [listen])

    def _complain(self, frontend: Frontend, service: Json, error: OSError) -> None:
        if frontend in self._said:
            return
        self._said.add(frontend)
        said = f"cannot listen on {frontend.address}:{frontend.port}/{frontend.protocol}: {error.strerror}"
        log.warning("service not reachable", extra={"service": name_of(service), "reason": said})
        Recorder(self.cluster, self.name).warn(service, "FailedToListen", said)
