"""Worlds for tests, and a stand-in for the API: what was decided is carried out on the World itself.

The grid is the lab's: two edges and two providers, one pair in us-east and one in eu-west, seen from edge-control.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from grid.crd.network import NetworkStatus, read_network
from grid.crd.provider import ProviderStatus, read_provider
from grid.crd.site import SiteStatus, read_site
from grid.reconcile.actions import Action, Emit, RemoveOverlay, WriteOverlay, WriteSite, WriteStatus
from grid.reconcile.decide import Decision, decide
from grid.reconcile.network import Memory
from grid.reconcile.world import Capacity, Identified, Member, Membership, Reach, Stored, Trust, World
from grid.scoring.health import Health, Phase
from grid.scoring.signals import Category, Signals
from tests.kit.resources import gateway, network, site

NOW = 1_784_980_800.0
VERIFIED = Reach(Trust.VERIFIED, Health(Phase.AVAILABLE, NOW))
TRUST = {"canonicalFingerprints": ["ab" * 32]}
IDLE = Signals(queue=0.1, kv_cache=0.1)


def provider_site(name: str, region: str, **spec: Any) -> dict[str, Any]:
    endpoint = {"address": f"{name}:8443", "tls": {"serverName": f"{name}.grid.internal"}}
    return site(name, region, gatewayEndpoint=endpoint, trust=TRUST, **spec)


def capacity(place: str = "provider-east", provider: str = "sim-a", **changes: Any) -> Capacity:
    found = Capacity(
        network="production",
        site=place,
        provider=provider,
        models=("shared-model",),
        cluster=f"gateway-{place}",
        category=Category.REMOTE,
        phase=Phase.AVAILABLE,
        measured=True,
        reading=1,
        signals=IDLE,
        at=NOW,
    )
    return dataclasses.replace(found, **changes)


def lab(*capacities: Capacity, spec: dict[str, Any] | None = None, **changes: Any) -> World:
    """The lab as edge-control sees it, with both providers idle unless others are given."""
    sites = [
        site("edge-control", "us-east", "edge"),
        site("edge-us-east", "us-east", "edge"),
        site("edge-eu-west", "eu-west", "edge"),
        provider_site("provider-east", "us-east"),
        provider_site("provider-west", "eu-west"),
    ]
    found = World(
        site="edge-control",
        networks=(
            read_network(
                network("production", gateway("edge-us-east"), gateway("edge-eu-west"), **(spec or {}))
            ),
        ),
        sites=tuple(read_site(each) for each in sites),
        capacities=capacities or (capacity("provider-east"), capacity("provider-west")),
        members={
            ("production", name): Member(Membership.ALIVE, NOW - 60)
            for name in ("provider-east", "provider-west")
        },
        reached={"provider-east": VERIFIED, "provider-west": VERIFIED},
        identity=Identified(Trust.VERIFIED),
    )
    return dataclasses.replace(found, **changes)


def carried_out(world: World, actions: Iterable[Action]) -> World:
    """The World after *actions*, as the API would show it."""
    for action in actions:
        match action:
            case WriteStatus():
                world = _with_status(world, action)
            case WriteOverlay():
                made = Stored(
                    action.namespace,
                    action.name,
                    action.network,
                    action.gateway,
                    action.text,
                    action.revision,
                )
                world = dataclasses.replace(world, stored=(*_without(world, action), made))
            case RemoveOverlay():
                world = dataclasses.replace(world, stored=_without(world, action))
            case Emit() | WriteSite():
                pass
    return world


def settle(world: World, memory: Memory | None = None, now: float = NOW) -> tuple[World, Decision]:
    """Decides and carries out once; the World then, and the decision."""
    decision = decide(world, memory or Memory(), now)
    return carried_out(world, decision.actions), decision


def _without(world: World, action: WriteOverlay | RemoveOverlay) -> tuple[Stored, ...]:
    return tuple(
        each for each in world.stored if (each.namespace, each.name) != (action.namespace, action.name)
    )


def _with_status(world: World, action: WriteStatus) -> World:
    """Statuses are read back through their schema, as the API server would prune and default them."""
    match action.kind:
        case "GridNetwork":
            status = NetworkStatus.model_validate(action.status)
            return dataclasses.replace(world, networks=_updated(world.networks, action.name, status))
        case "GridSite":
            return dataclasses.replace(
                world, sites=_updated(world.sites, action.name, SiteStatus.model_validate(action.status))
            )
        case _:
            return dataclasses.replace(
                world,
                providers=_updated(
                    world.providers, action.name, ProviderStatus.model_validate(action.status)
                ),
            )


def _updated(resources: tuple[Any, ...], name: str, status: Any) -> tuple[Any, ...]:
    return tuple(
        each.model_copy(update={"status": status}) if each.metadata.name == name else each
        for each in resources
    )


def with_provider(world: World, *documents: dict[str, Any]) -> World:
    return dataclasses.replace(world, providers=tuple(read_provider(each) for each in documents))
