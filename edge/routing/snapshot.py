"""The routing snapshot: an accepted overlay as an immutable index by (kind, name).

A reload builds a new Snapshot off the request path and swaps one reference; a request takes the reference
once and decides everything by it. What does not depend on the request is worked out here: Grid's order, which
candidates this gateway has a cluster for, and what the gates leave of them.

A candidate whose cluster is not configured is put aside and counted. It never keeps an update from being
used: one site that this gateway does not know yet must not freeze the routes to all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from edge.routing.gates import Candidates, Choices, choices
from grid.contract.overlay import TIER_ORDER, Candidate, Overlay

Capability = tuple[str, str]
"""(kind, name), exactly as the overlay spells them."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who offers one capability.

    candidates: those that can be reached, in Grid's order, best first; may be empty.
    tiered: each candidate says its tier. Without tiers the order alone decides, and affinity is off.
    choices: what a request has that nothing of its own narrows.
    unconfigured: candidates put aside because this gateway has no such cluster.
    """

    kind: str
    name: str
    candidates: Candidates
    tiered: bool
    choices: Choices
    unconfigured: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """accepted_at: Unix seconds, when the overlay was accepted. unconfigured: of all routes together."""

    overlay: Overlay
    accepted_at: float
    routes: Mapping[Capability, Route]
    unconfigured: int


def index(overlay: Overlay, clusters: Container[str], accepted_at: float) -> Snapshot:
    """*overlay* ready to route by. clusters: names of those this gateway is configured with."""
    offered: defaultdict[Capability, list[Candidate]] = defaultdict(list)
    for candidate in overlay.candidates:
        offered[candidate.kind, candidate.name].append(candidate)
    routes = {capability: _route(capability, found, clusters) for capability, found in offered.items()}
    return Snapshot(overlay, accepted_at, routes, sum(route.unconfigured for route in routes.values()))


def in_order(candidates: Iterable[Candidate]) -> Candidates:
    """Grid's order. A rank stands once in a capability; should one stand twice, the order is still total."""
    return tuple(sorted(candidates, key=_place))


def _route(capability: Capability, offered: list[Candidate], clusters: Container[str]) -> Route:
    reached = in_order(candidate for candidate in offered if candidate.cluster in clusters)
    tiered = all(candidate.tier is not None for candidate in offered)
    unconfigured = len(offered) - len(reached)
    return Route(*capability, reached, tiered, choices(reached, tiered=tiered), unconfigured)


def _place(candidate: Candidate) -> tuple[int, int, str]:
    tier = -1 if candidate.tier is None else TIER_ORDER[candidate.tier]
    return candidate.rank, tier, candidate.stable_id
