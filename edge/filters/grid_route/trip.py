"""One request's way through the candidates: the first, and another after each attempt of which no byte left.

`Routing` is what all requests of a grid_route share; a Trip is one request's use of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from edge.chain import Exchange
from edge.filters.grid_route.record import Records
from edge.metrics import EdgeMetrics
from edge.routing.attempts import Attempts
from edge.routing.bindings import Bindings, Outcome
from edge.routing.cooling import Cooling
from edge.routing.decision import Decision
from edge.routing.freshness import AgePolicy, may_serve
from edge.routing.place import Placement, Rules, Session, place
from edge.routing.select import Asked, Spread
from edge.routing.snapshot import Snapshot
from edge.wire.faults import Cause, RemoteFault
from edge.wire.messages import check_field
from edge.wire.pool import Cluster
from grid.contract.names import INFERENCE_MODEL
from grid.contract.overlay import MAX_CANDIDATES, Candidate

_HOP = b"x-ai-routing-"
_CANDIDATE, _REQUEST_ID, _REVISION = _HOP + b"candidate", _HOP + b"request-id", _HOP + b"revision"
_IN_TURNS, _BY_KEY = Spread.ROUND_ROBIN, Spread.RENDEZVOUS
_UNREACHED = frozenset((Cause.REFUSED, Cause.CONNECT_TIMEOUT, Cause.TLS, Cause.NO_ENDPOINT))


@dataclass(frozen=True, slots=True, repr=False)
class Routing:
    """What requests are routed by.

    age: None where candidates do not age; rejects: whether an overlay that has expired serves nobody. hops:
    clusters that are told of the choice; told: stable_id -> what they are told of it. most, within_s: bounds
    of one request's attempts. turns: model -> its last turn. now: monotonic seconds, wall: Unix seconds.
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
    told: dict[str, bytes] = field(default_factory=dict)

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

    def place(self, snapshot: Snapshot, asked: Asked, session: Session | None) -> Placement:
        """A candidate, of those that could be reached lately if there is one."""
        now, usable = self.now(), self.serves(snapshot)
        aside = self._aside(snapshot, asked, now) if self.cooling.until else ()
        if aside:
            narrower = replace(asked, tried=(*asked.tried, *aside))
            placed = place(snapshot, narrower, session, self.rules, self.bindings, now, usable=usable)
            if placed.decision.candidate is not None:
                return placed
        return place(snapshot, asked, session, self.rules, self.bindings, now, usable=usable)

    def tell(self, stable_id: str) -> bytes:
        """What a hop is told; in older formats an id is whatever its writer chose. Raises UnsafeField."""
        if len(self.told) > MAX_CANDIDATES:
            self.told.clear()
        value = stable_id.encode()
        check_field(_CANDIDATE, value)
        self.told[stable_id] = value
        return value

    def _aside(self, snapshot: Snapshot, asked: Asked, now: float) -> tuple[str, ...]:
        """stable_ids of candidates whose cluster could not be reached a moment ago."""
        clusters, route = self.cooling.aside(now), snapshot.routes.get((asked.kind, asked.name))
        if not clusters or route is None:
            return ()
        return tuple(each.stable_id for each in route.candidates if each.cluster in clusters)


class Trip:
    """snapshot: taken once; what an overlay brings while the request lasts is for later ones."""

    __slots__ = (
        "_attempts",
        "_began_at",
        "_candidate",
        "_exchange",
        "_model",
        "_outcome",
        "_routing",
        "_session",
        "_snapshot",
        "_turn",
    )

    def __init__(
        self, routing: Routing, exchange: Exchange, model: str, snapshot: Snapshot, session: Session | None
    ) -> None:
        self._routing, self._exchange, self._model = routing, exchange, model
        self._snapshot, self._session = snapshot, session
        self._began_at = routing.now()
        self._attempts: Attempts | None = None
        self._candidate: Candidate | None = None
        self._outcome = Outcome.NO_SESSION
        self._turn = 0
        if routing.rules.policy.spread is _IN_TURNS and (INFERENCE_MODEL, model) in snapshot.routes:
            self._turn = routing.turn(model)

    def next(self, fault: RemoteFault) -> Cluster | None:
        """The next candidate's cluster, None when none is left or it has been tried enough."""
        routing, failed = self._routing, self._candidate
        if failed is None:
            return None
        now = routing.now()
        if fault.cause in _UNREACHED:
            routing.cooling.failed(failed.cluster, now)
        before = self._attempts or Attempts(most=routing.most, until=self._began_at + routing.within_s)
        self._attempts = before.failed(failed.stable_id)
        if not self._attempts.may_try(now):
            return None
        chosen = self.place().candidate
        if chosen is not None:
            routing.metrics.failovers.add(failed.name, failed.site, fault.cause)
        cluster = None if chosen is None else routing.clusters.get(chosen.cluster)
        return cluster and _within(cluster, self._exchange.first_byte_s)

    def record(self) -> str:
        """The decision as members of a log line."""
        routing, snapshot = self._routing, self._snapshot
        age_s = None if routing.age is None else max(0.0, routing.wall() - snapshot.accepted_at)
        return routing.records.record(
            snapshot, self._candidate, self._outcome, self._exchange.attempts, age_s
        )

    def place(self) -> Decision:
        """A candidate, or why there is none."""
        routing, exchange = self._routing, self._exchange
        asked = Asked(
            INFERENCE_MODEL,
            self._model,
            tried=self._attempts.tried if self._attempts else (),
            turn=self._turn,
            spread_key=(exchange.request_id or "").encode()
            if routing.rules.policy.spread is _BY_KEY
            else b"",
        )
        placed = routing.place(self._snapshot, asked, self._session)
        decision = placed.decision
        exchange.decision, exchange.session, self._outcome = decision.reason, placed.key, placed.outcome
        routing.metrics.decisions.add(decision.reason)
        if self._session is not None:
            routing.metrics.affinity.add(placed.outcome)
        if decision.candidate is not None:
            self._candidate = decision.candidate
            self._send_to(decision.candidate)
        return decision

    def _send_to(self, candidate: Candidate) -> None:
        """Everything that depends on the candidate; a second time it writes over the first."""
        routing, exchange = self._routing, self._exchange
        routing.metrics.selections.add(candidate.name, candidate.site)
        if routing.cooling.until:
            routing.cooling.chosen(candidate.cluster, routing.now())
        is_hop = candidate.cluster in routing.hops
        exchange.cluster, exchange.candidate = candidate.cluster, candidate.stable_id
        exchange.trusts_unsent = is_hop and routing.clusters[candidate.cluster].tls is not None
        exchange.credential = None if is_hop else _reference(candidate)
        fields = exchange.request.fields
        if is_hop:
            fields[_CANDIDATE] = routing.told.get(candidate.stable_id) or routing.tell(candidate.stable_id)
            fields[_REQUEST_ID] = routing.new_id().encode()
            fields[_REVISION] = self._snapshot.overlay.label.encode()
        elif self._attempts is not None:  # the one before may have been a hop
            for name in (_CANDIDATE, _REQUEST_ID, _REVISION):
                fields.pop(name, None)


def _within(cluster: Cluster, first_byte_s: float | None) -> Cluster:
    """The same endpoints and connections under the request's own timeout, where it has one."""
    if first_byte_s is None:
        return cluster
    made = copy.copy(cluster)
    within = min(first_byte_s, cluster.timeouts.first_byte_s)
    made.timeouts = replace(cluster.timeouts, first_byte_s=within)
    return made


def _reference(candidate: Candidate) -> str | None:
    """The candidate's credential as `credential_inject` names it."""
    of = candidate.credential
    return None if of is None else f"{of.namespace}/{of.name}/{of.key}"
