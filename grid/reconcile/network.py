"""One network's part of a decision: admission of all that is offered in it, and one overlay a gateway.

stored overlays -> what the first step of each provider begins with
own and told capacities -> admitted -> offers -> gateways, each from its own view
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from grid.contract.overlay import ADMISSION_ORDER, Admission
from grid.crd.network import GridNetwork
from grid.crd.site import GridSite
from grid.reconcile import policy, statuses
from grid.reconcile.actions import Action
from grid.reconcile.admitting import Kept, Key, Rules, Standpoint, by_capability, key_of, step
from grid.reconcile.gateways import (
    Desk,
    Gateway,
    Offers,
    Outcome,
    gateway_of,
    is_nameable,
    place_of,
    serve,
    take_over,
    with_ghosts,
)
from grid.reconcile.sites import Standing
from grid.reconcile.world import Capacity, Stored, World
from grid.scoring.admission import Admitted, Reason, unseen
from grid.scoring.distance import Place

GatewayKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Memory:
    """What one decision leaves to the next; empty in a process that has just begun.

    providers: by (network, site, provider). desks: by (network, namespace, gateway). rules: by network.
    calm: by site, what its status needed no change for.
    """

    providers: Mapping[Key, Kept] = field(default_factory=dict)
    desks: Mapping[GatewayKey, Desk] = field(default_factory=dict)
    rules: Mapping[str, Rules] = field(default_factory=dict)
    calm: Mapping[str, tuple[GridSite, Standing, statuses.Said]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """kept, desks, rules: its part of the memory. actions: its overlays, then its status."""

    kept: Mapping[Key, Kept]
    desks: Mapping[GatewayKey, Desk]
    rules: Rules
    outcomes: tuple[Outcome, ...]
    actions: tuple[Action, ...]


def decide_network(
    network: GridNetwork,
    world: World,
    memory: Memory,
    sites: tuple[GridSite, ...],
    standings: Mapping[str, Standing],
    own: tuple[Capacity, ...],
    now: float,
) -> Share:
    """What should be done for *network*. sites: its own. standings: of all sites, by name.

    own: what this cluster's providers offer, of whatever network.
    """
    name = network.metadata.name
    by_name = {site.metadata.name: site for site in sites}
    stored = {(each.namespace, each.name): each for each in world.stored}
    gateways, unserved = _gateways(network, by_name, world.closed)
    desks = {
        key: memory.desks.get(key) or take_over(gateway, stored.get(gateway.configmap))
        for key, gateway in gateways.items()
    }
    grace = not world.settled and now < world.started_at + policy.startup_grace_s(network)
    told = [c for c in world.capacities if c.network == name and c.site != world.site]
    seeds = _stored_admissions(desks) if grace or not memory.providers else {}
    shown = {} if memory.providers else _shown_admissions(world)
    rules, before = policy.rules(network), memory.rules.get(name)
    if before == rules:
        rules = before  # the very object: what was made by it is seen to be as it was
    ground = Ground(world, by_name, standings, rules, seeds, shown, grace)
    mine = [*((c, False) for c in own if c.network == name), *((c, True) for c in told)]
    kept = _admit_all(mine, ground, memory, now)
    outcomes = tuple(_serve_all(ground, gateways, desks, stored, kept, now))
    problems = (
        *policy.slips(network, world.namespace),
        *_homeless(world),
        *(f"{who}: {'; '.join(why)}" for who, why in world.unreadable.items()),
    )
    providing = {
        site.metadata.name: standings[site.metadata.name] for site in sites if site.spec.role != "edge"
    }
    writes = tuple(outcome.write for outcome in outcomes if outcome.write is not None)
    around = statuses.Around(providing, len(told), unserved, problems, world.meshes.get(name))
    status = statuses.network_status(network, outcomes, around, now)
    after = dict(zip(gateways, (outcome.desk for outcome in outcomes), strict=True))
    return Share(kept, after, rules, outcomes, (*writes, *status))


def _homeless(world: World) -> Iterator[str]:
    """An operator whose own site nobody declared is verified by nobody, and stands nowhere."""
    if all(site.metadata.name != world.site for site in world.sites):
        yield f"there is no GridSite {world.site}, this operator's own"


def _gateways(
    network: GridNetwork, sites: Mapping[str, GridSite], closed: Mapping[str, str]
) -> tuple[dict[GatewayKey, Gateway], tuple[str, ...]]:
    """The network's gateways, of one named twice the first; and those that get no overlay, with why.

    closed: namespaces whose ConfigMaps cannot be read. What stands there is not known, so nothing is written.
    """
    found: dict[GatewayKey, Gateway] = {}
    unserved: list[str] = []
    for ref in network.spec.gateway_refs:
        gateway = gateway_of(network, ref, sites)
        if not is_nameable(gateway):
            unserved.append(f"{ref.name[:64]!r}: no overlay or ConfigMap can hold its names")
        elif ref.namespace in closed:
            unserved.append(
                f"{ref.name}: ConfigMaps of {ref.namespace} cannot be read ({closed[ref.namespace]})"
            )
        else:
            found.setdefault((network.metadata.name, ref.namespace, ref.name), gateway)
    return found, tuple(unserved)


def _stored_admissions(desks: Mapping[GatewayKey, Desk]) -> dict[tuple[str, str], Admission]:
    """What a stored overlay says of each way to a provider; the most open, where several say something."""
    found: dict[tuple[str, str], Admission] = {}
    for desk in desks.values():
        for candidate in desk.overlay.candidates if desk.overlay else ():
            way = (candidate.site, candidate.cluster)
            before = found.get(way, Admission.NONE)
            found[way] = min(before, candidate.admission, key=ADMISSION_ORDER.__getitem__)
    return found


@dataclass(frozen=True, slots=True)
class Ground:
    """What all providers of a network are judged on."""

    world: World
    sites: Mapping[str, GridSite]
    standings: Mapping[str, Standing]
    rules: Rules
    seeds: Mapping[tuple[str, str], Admission]
    shown: Mapping[str, Admission]
    grace: bool

    def graces(self, capacity: Capacity, kept: Kept | None) -> bool:
        """Only what was routed to when this operator began; what is new to it is closed until it is known."""
        if not self.grace:
            return False
        return kept.standpoint.grace if kept else (capacity.site, capacity.cluster) in self.seeds

    def standpoint(self, capacity: Capacity, *, told: bool, grace: bool) -> Standpoint:
        site = self.sites.get(capacity.site)
        member = self.world.members.get((capacity.network, capacity.site)) if told else None
        stands = self.standings.get(capacity.site)
        return Standpoint(
            place=place_of(site) if site else Place(capacity.site),
            verified=site is not None and stands is not None and stands.verified,
            told=told,
            member=member,
            grace=grace,
        )

    def first(self, capacity: Capacity, now: float, *, told: bool) -> Admitted:
        """What a provider begins with: what a stored overlay or its status last said, or nothing known."""
        seed = self.seeds.get((capacity.site, capacity.cluster))
        if seed is None and not told:
            seed = self.shown.get(capacity.provider)
        if seed is None:
            return unseen(now)
        reason = Reason.OPEN if seed is Admission.NEW_AND_EXISTING else Reason.RECOVERING
        return Admitted(seed, reason, now)


def _shown_admissions(world: World) -> dict[str, Admission]:
    """What this cluster's providers' statuses say; of one never measured, nothing."""
    return {
        provider.metadata.name: Admission(provider.status.admission.state)
        for provider in world.providers
        if provider.status
        and provider.status.admission
        and provider.status.admission.reason != Reason.AWAITING_SAMPLE
    }


def _admit_all(
    capacities: list[tuple[Capacity, bool]], ground: Ground, memory: Memory, now: float
) -> dict[Key, Kept]:
    found: dict[Key, Kept] = {}
    standpoints: dict[tuple[str, bool, bool], Standpoint] = {}
    for capacity, told in capacities:
        key = key_of(capacity)
        kept = memory.providers.get(key)
        grace = ground.graces(capacity, kept)
        standpoint = standpoints.get((capacity.site, told, grace))
        if standpoint is None:
            standpoint = ground.standpoint(capacity, told=told, grace=grace)
            if kept is not None and kept.standpoint == standpoint:
                standpoint = kept.standpoint
            standpoints[capacity.site, told, grace] = standpoint
        admitted = kept.admitted if kept else ground.first(capacity, now, told=told)
        found[key] = step(capacity, standpoint, admitted, kept, ground.rules, now)
    return found


def _serve_all(
    ground: Ground,
    gateways: Mapping[GatewayKey, Gateway],
    desks: Mapping[GatewayKey, Desk],
    stored: Mapping[tuple[str, str], Stored],
    kept: Mapping[Key, Kept],
    now: float,
) -> Iterator[Outcome]:
    offers: Offers = by_capability(kept)
    for key, gateway in gateways.items():
        desk, preference = desks[key], policy.preference(gateway.network)
        if ground.grace:
            # What has not been measured yet has no score that could outdo another's.
            preference = replace(preference, dead_band=math.inf)
        mine = offers
        if ground.grace and desk.overlay is not None:
            mine = with_ghosts(offers, desk.overlay, ground.sites, preference, gateway.target.view)
        status = ground.world.gateways.get((gateway.ref.namespace, gateway.ref.name))
        outcome = serve(gateway, mine, preference, desk, stored.get(gateway.configmap), status, now)
        failed = ground.world.unwritten.get(gateway.configmap, "") if outcome.write else ""
        yield replace(outcome, failed=failed) if failed else outcome
