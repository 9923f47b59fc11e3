"""Gives Services of type LoadBalancer their addresses, and takes them back."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge.embedded.api.cluster import Cluster
from forge.embedded.api.values import Event, Json
from forge.embedded.lb import pools
from forge.embedded.node.objects import SERVICES, Objects, is_leaving, name_of, namespace_of
from forge.embedded.node.recorder import Recorder

POOLS = "ipaddresspools.metallb.io"
ADVERTISEMENTS = "l2advertisements.metallb.io"


def known(cluster: Cluster, start: pools.Pool | None) -> tuple[pools.Pool, ...]:
    """All pools of this moment."""
    objects = Objects(cluster, "metallb-controller")
    made = pools.of_objects(objects.all(POOLS), objects.all(ADVERTISEMENTS))
    return (*made, start) if start is not None else made


@dataclass(slots=True)
class Balancer:
    """The controller. pool: of the cluster's start, as text; empty for none."""

    cluster: Cluster
    pool: str
    name: str = "metallb-controller"
    settle_s: float = 0.0
    _start: pools.Pool | None = None
    _objects: Objects = field(init=False)
    _recorder: Recorder = field(init=False)
    _said: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._objects = Objects(self.cluster, self.name)
        self._recorder = Recorder(self.cluster, self.name)
        self._start = pools.parse_pool(self.pool)

    def wants(self, event: Event) -> bool:
        return event.record.key.resource in (SERVICES, POOLS, ADVERTISEMENTS)

    def step(self) -> float | None:
        present = known(self.cluster, self._start)
        services = [s for s in self._objects.all(SERVICES) if not is_leaving(s)]
        mine = [s for s in services if pools.wants_address(s)]
        taken = {address: _place(s) for s in reversed(mine) for address in pools.current(s)}
        # Who has an address comes before who wants one.
        for service in sorted(mine, key=lambda s: not pools.current(s)):
            given = pools.choose(service, present, taken)
            for address in pools.current(service):
                if address != given.address and taken.get(address) == _place(service):
                    del taken[address]
            if given.address:
                taken[given.address] = _place(service)
            self._settle(service, given)
        return None

    def _settle(self, service: Json, given: pools.Given) -> None:
        ingress = [{"ip": given.address, "ipMode": "VIP"}] if given.address else []
        before = pools.current(service)
        if before != [i["ip"] for i in ingress]:
            status = {
                **(service.get("status") or {}),
                "loadBalancer": {"ingress": ingress} if ingress else {},
            }
            self._objects.put_status(SERVICES, service, status)
        if given.why and self._said.get(_place(service)) != given.why:
            said = f'Failed to allocate IP for "{_place(service)}": {given.why}'
            self._recorder.warn(service, "AllocationFailed", said)
        elif given.address and given.address not in before:
            self._recorder.note(service, "IPAllocated", f'Assigned IP ["{given.address}"]')
        self._said[_place(service)] = given.why


def _place(service: Json) -> str:
    return f"{namespace_of(service)}/{name_of(service)}"
