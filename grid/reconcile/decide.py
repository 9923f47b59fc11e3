"""The operator's judgement: from the World to what should be done about it.

    sites -> providers -> admission -> offers -> one overlay a gateway -> statuses -> what is left over

Nothing is read but the World, nothing remembered but the Memory that is handed back, and no step depends on
which event woke the loop. Decided again on the same World once its actions are done, it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grid.contract.names import label_value
from grid.crd.site import GridSite
from grid.reconcile import statuses
from grid.reconcile.actions import Action, RemoveOverlay
from grid.reconcile.admitting import Kept, Key, Rules, key_of
from grid.reconcile.declared import Declared, declared
from grid.reconcile.discovery import site_writes
from grid.reconcile.gateways import Desk, Outcome
from grid.reconcile.network import GatewayKey, Memory, decide_network
from grid.reconcile.sites import Standing, standing
from grid.reconcile.statuses import Said
from grid.reconcile.world import Capacity, World


@dataclass(frozen=True, slots=True)
class Decision:
    """actions: in the order to do them. memory: for the next. published: what other sites should be told.

    outcomes: every gateway's, by network; for `explain`, metrics and readiness.
    """

    actions: tuple[Action, ...]
    memory: Memory
    published: tuple[Capacity, ...]
    outcomes: Mapping[str, tuple[Outcome, ...]]


def decide(world: World, memory: Memory, now: float) -> Decision:
    """What should be done about *world* at *now*."""
    networks = {network.metadata.name: network for network in world.networks}
    sites = _by_network(world)
    standings = {site.metadata.name: standing(site, world) for site in world.sites}
    judged = [declared(provider, networks, sites, world) for provider in world.providers]
    own = tuple(capacity for each in judged for capacity in each.capacities)
    kept: dict[Key, Kept] = {}
    desks: dict[GatewayKey, Desk] = {}
    rules: dict[str, Rules] = {}
    outcomes: dict[str, tuple[Outcome, ...]] = {}
    actions: list[Action] = []
    for name, network in networks.items():
        mine = decide_network(network, world, memory, sites.get(name, ()), standings, own, now)
        kept.update(mine.kept)
        desks.update(mine.desks)
        rules[name] = mine.rules
        outcomes[name] = mine.outcomes
        actions += mine.actions
    for_sites, calm = _site_actions(world, standings, own, memory, now)
    actions += for_sites
    actions += _provider_actions(judged, kept, now)
    actions += _left_over(world, outcomes)
    actions += site_writes(world)
    published = tuple(capacity for capacity in own if capacity.site == world.site)
    return Decision(tuple(actions), Memory(kept, desks, rules, calm), published, outcomes)


def _by_network(world: World) -> dict[str, tuple[GridSite, ...]]:
    found: dict[str, list[GridSite]] = {}
    for site in world.sites:
        found.setdefault(site.spec.grid_network_ref, []).append(site)
    return {network: tuple(sites) for network, sites in found.items()}


def _site_actions(
    world: World, standings: Mapping[str, Standing], own: tuple[Capacity, ...], memory: Memory, now: float
) -> tuple[list[Action], dict[str, tuple[GridSite, Standing, Said]]]:
    """What statuses need, and the sites that need nothing: they are not looked at while they are the same."""
    actions: list[Action] = []
    calm: dict[str, tuple[GridSite, Standing, Said]] = {}
    offering = {(each.network, each.site) for each in (*own, *world.capacities)}
    for site in world.sites:
        name = site.metadata.name
        key = (site.spec.grid_network_ref, name)
        offers = True if key in offering else False if world.settled else None
        state = (
            site,
            standings[name],
            Said(world.members.get(key), world.settled, world.certificates.get(key, b""), offers),
        )
        before = memory.calm.get(name)
        if before is None or before[0] is not site or before[1:] != state[1:]:
            needed = list(statuses.site_status(*state, now))
            actions += needed
            if needed:
                continue
        calm[name] = state
    return actions, calm


def _provider_actions(judged: list[Declared], kept: Mapping[Key, Kept], now: float) -> Iterator[Action]:
    for each in judged:
        first = kept.get(key_of(each.capacities[0])) if each.capacities else None
        yield from statuses.provider_status(each, first.admitted if first else None, now)


def _left_over(world: World, outcomes: Mapping[str, tuple[Outcome, ...]]) -> Iterator[Action]:
    """ConfigMaps of gateways nobody refers to: their overlays would stand for ever.

    A network that cannot be read may still refer to its own.
    """
    wanted = {outcome.gateway.configmap for served in outcomes.values() for outcome in served}
    unread = {label_value(who.removeprefix("GridNetwork ")) for who in world.unreadable}
    for stored in world.stored:
        if (stored.namespace, stored.name) not in wanted and label_value(stored.network) not in unread:
            yield RemoveOverlay(stored.namespace, stored.name)
