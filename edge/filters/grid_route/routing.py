"""What all requests of one grid_route share: its rules, its memory, and whom it asks the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from edge.filters.grid_route.onward import Known, Onward, Ready, onward
from edge.filters.grid_route.record import Records
from edge.metrics import EdgeMetrics
from edge.routing.bindings import Bindings, Outcome
from edge.routing.cooling import Cooling
from edge.routing.decision import Reason
from edge.routing.freshness import AgePolicy, may_serve
from edge.routing.place import Placement, Rules, Session, place
from edge.routing.select import Asked, Spread
from edge.routing.snapshot import Snapshot
from edge.wire.pool import Cluster
from grid.contract.overlay import MAX_CANDIDATES, Candidate


@dataclass(slots=True, repr=False)
class Routing:
    """What requests are routed by.

    age: None where candidates do not age; rejects: whether an overlay that has expired serves nobody. hops:
    clusters that are told of the choice. most, within_s: bounds of one request's attempts. turns: model ->
    its last turn. now: monotonic seconds, wall: Unix seconds. decided, bound: where reasons and outcomes are
    counted.
    """

    rules: Rules
    bindings: Bindings
    cooling: Cooling
    hops: frozenset[str]
    clusters: Mapping[str, Cluster]
    age: AgePolicy | None
    most: int
    within_s: float
    records: Records
    metrics: EdgeMetrics
    now: Callable[[], float]
    wall: Callable[[], float]
    new_id: Callable[[], str]
    rejects: bool = False
    turns: dict[str, int] = field(default_factory=dict)
    takes_turns: bool = field(init=False)
    spreads_by_key: bool = field(init=False)
    decided: dict[Reason, list[float]] = field(init=False)
    bound: dict[Outcome, list[float]] = field(init=False)
    _known: Known = field(default_factory=Known)

    def __post_init__(self) -> None:
        self.takes_turns = self.rules.policy.spread is Spread.ROUND_ROBIN
        self.spreads_by_key = self.rules.policy.spread is Spread.RENDEZVOUS
        self.decided = {reason: self.metrics.decisions.cell(reason) for reason in Reason}
        self.bound = {outcome: self.metrics.affinity.cell(outcome) for outcome in Outcome}

    def turn(self, model: str) -> int:
        """Which turn of the model's it is; a count for all together would give models that alternate always
        the same one."""
        if len(self.turns) > MAX_CANDIDATES:
            self.turns.clear()
        turn = self.turns[model] = self.turns.get(model, -1) + 1
        return turn

    def serves(self, snapshot: Snapshot) -> bool:
        """Whether the overlay's age lets requests be routed by it."""
        return not self.rejects or (self.age is not None and may_serve(snapshot, self.age, self.wall()))

    def place(self, snapshot: Snapshot, asked: Asked, session: Session | None, now: float) -> Placement:
        """A candidate, of those that could be reached lately if there is one. now: monotonic seconds."""
        usable = not self.rejects or self.serves(snapshot)
        if self.cooling.until:
            aside = self._aside(snapshot, asked, now)
            if aside:
                narrower = replace(asked, tried=(*asked.tried, *aside))
                placed = place(snapshot, narrower, session, self.rules, self.bindings, now, usable=usable)
                if placed.decision.candidate is not None:
                    return placed
        return place(snapshot, asked, session, self.rules, self.bindings, now, usable=usable)

    def ready(self, snapshot: Snapshot, model: str) -> Ready | None:
        """What was decided by *snapshot* for requests that bring nothing of their own; None when something
        besides it counts now."""
        known = self._known
        if known.snapshot is not snapshot or self.cooling.until or self.rejects:
            return None
        return known.ready.get(model)

    def onward(self, snapshot: Snapshot, candidate: Candidate) -> Onward:
        """What the choice of *candidate* means. Raises UnsafeField."""
        known = self._known
        found = known.onward.get(candidate.stable_id) if known.snapshot is snapshot else None
        return found or onward(snapshot, candidate, self.hops, self.clusters, self.metrics)

    def remember(self, snapshot: Snapshot, asked: Asked, chosen: Onward, reason: Reason) -> None:
        """For the next one, what was decided for a request's first attempt. Nothing while a cluster stands
        aside, and nothing that is decided each time."""
        if self._known.snapshot is not snapshot:
            self._known = Known(snapshot)
        if chosen.selected is None or self.cooling.until:
            return
        known = self._known
        known.onward[chosen.stable_id] = chosen
        ready = known.ready.setdefault(asked.name, Ready())
        if reason is Reason.BOUND:
            ready.held[chosen.stable_id] = chosen
        elif reason is Reason.RANK and not self.takes_turns and not self.spreads_by_key:
            ready.first = chosen

    def _aside(self, snapshot: Snapshot, asked: Asked, now: float) -> tuple[str, ...]:
        """stable_ids of candidates whose cluster could not be reached a moment ago."""
        clusters, route = self.cooling.aside(now), snapshot.routes.get((asked.kind, asked.name))
        if not clusters or route is None:
            return ()
        return tuple(each.stable_id for each in route.candidates if each.cluster in clusters)
