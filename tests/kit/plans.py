"""Small builders of plan values, with defaults."""

from __future__ import annotations

from forge.plan.fingerprint import fingerprint
from forge.plan.resources import HealthCheck, NetworkResource, ProbeType, ServiceResource
from forge.plan.values import Condition, Desired, Key, Need, Observed, Owner, Phase, Recorded, RecordPhase

ME = Owner("lab", "id-1")
OTHER = Owner("other", "id-2")
NET = Key("network", "lab")


def svc(name: str) -> Key:
    return Key("service", name)


def network(subnet: str = "10.64.0.0/22") -> Desired:
    resource = NetworkResource("lab-net", subnet)
    return Desired(NET, "lab-net", fingerprint(resource), resource)


def service(
    name: str,
    *args: str,
    needs: tuple[Need, ...] = (),
    start: bool = True,
    health: bool = False,
    on_network: bool = False,
) -> Desired:
    check = HealthCheck(ProbeType.TCP, port=80, interval_s=0.02, timeout_s=0.02) if health else None
    resource = ServiceResource(name, f"lab-{name}", "app:1", args=args, health=check)
    needs = (*needs, Need(NET)) if on_network else needs
    replaces = (NET,) if on_network else ()
    return Desired(svc(name), f"lab-{name}", fingerprint(resource), resource, needs, start, health, replaces)


def need(name: str, condition: Condition = Condition.STARTED) -> Need:
    return Need(svc(name), condition)


def live(
    desired: Desired, phase: Phase | None = None, owner: Owner | None = ME, **fields: object
) -> Observed:
    """What the machine shows of a desired resource that was made as it is desired."""
    default = Phase.PRESENT if desired.key.kind in ("network", "image") else Phase.RUNNING
    base = Observed(desired.key, owner, desired.fingerprint, phase or default, id=f"id-{desired.key.name}")
    from dataclasses import replace

    return replace(base, **fields)  # type: ignore[arg-type]


def record(desired: Desired, phase: RecordPhase = RecordPhase.CREATED, *, ready: bool = True) -> Recorded:
    return Recorded(
        desired.key, phase, desired.name, desired.fingerprint, f"id-{desired.key.name}", 1.0, ready
    )
