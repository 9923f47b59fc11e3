"""One request's way through the candidates: the first, and another after each attempt of which no byte left.

`Routing` is what all requests of a grid_route share; a Trip is one request's use of it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Final

from edge.chain import Exchange
from edge.filters.grid_route.onward import CANDIDATE, REQUEST_ID, REVISION, Onward, Ready
from edge.filters.grid_route.routing import Routing
from edge.routing.attempts import Attempts
from edge.routing.bindings import Outcome
from edge.routing.decision import Reason
from edge.routing.place import Session
from edge.routing.select import Asked
from edge.routing.snapshot import Snapshot
from edge.wire.faults import Cause, RemoteFault
from edge.wire.pool import Cluster
from grid.contract.names import INFERENCE_MODEL

_UNREACHED: Final = frozenset((Cause.REFUSED, Cause.CONNECT_TIMEOUT, Cause.TLS, Cause.NO_ENDPOINT))
_NO_SESSION: Final = Outcome.NO_SESSION
_RANK: Final = Reason.RANK
_BOUND: Final = Reason.BOUND


class Trip:
    """snapshot: taken once; what an overlay brings while the request lasts is for later ones."""

    __slots__ = (
        "_attempts",
        "_began_at",
        "_exchange",
        "_model",
        "_onward",
        "_outcome",
        "_routing",
        "_session",
        "_snapshot",
        "_turn",
    )

    def __init__(
        self, routing: Routing, exchange: Exchange, model: str, snapshot: Snapshot, session: Session | None
    ) -> None:
        self._routing = routing
        self._exchange = exchange
        self._snapshot = snapshot
        self._session = session
        self._model = model
        self._began_at = routing.now()
        self._attempts: Attempts | None = None
        self._onward: Onward | None = None
        self._outcome = _NO_SESSION
        self._turn = -1

    def begin(self) -> Reason | None:
        """Sends the request to its first candidate, or says why there is none."""
        routing, session = self._routing, self._session
        ready = routing.ready(self._snapshot, self._model)
        if ready is None:
            return self._place(self._began_at)
        if session is None:
            if ready.first is None:
                return self._place(self._began_at)
            self._exchange.decision = _RANK
            routing.decided[_RANK][0] += 1
            self._send_to(ready.first, self._began_at)
            return None
        return self._stay(ready, session)

    def _stay(self, ready: Ready, session: Session) -> Reason | None:
        """A session that is bound stays where it is; any other is placed."""
        routing, exchange = self._routing, self._exchange
        key = session.key_under(routing.rules, INFERENCE_MODEL, self._model)
        found = routing.bindings.find(key, routing.rules.limits, self._began_at)
        held = None if found is None else ready.held.get(found.stable_id)
        if found is None or held is None:
            return self._place(self._began_at)
        self._outcome = routing.bindings.renew(found, key, held.stable_id, self._began_at)
        exchange.decision, exchange.session = _BOUND, key
        routing.decided[_BOUND][0] += 1
        routing.bound[self._outcome][0] += 1
        self._send_to(held, self._began_at)
        return None

    def next(self, fault: RemoteFault) -> Cluster | None:
        """The next candidate's cluster, None when none is left or it has been tried enough."""
        routing = self._routing
        if self._onward is None:
            return None
        failed, now = self._onward.candidate, routing.now()
        if fault.cause in _UNREACHED:
            routing.cooling.failed(failed.cluster, now)
        before = self._attempts or Attempts(most=routing.most, until=self._began_at + routing.within_s)
        self._attempts = before.failed(failed.stable_id)
        if not self._attempts.may_try(now) or self._place(now) is not None:
            return None
        routing.metrics.failovers.add(failed.name, failed.site, fault.cause)
        cluster = routing.clusters.get(self._onward.cluster)
        return cluster and _within(cluster, self._exchange.first_byte_s)

    def record(self) -> str:
        """The decision as members of a log line."""
        routing, snapshot = self._routing, self._snapshot
        age_s = None if routing.age is None else routing.wall() - snapshot.accepted_at
        return routing.records.record(snapshot, self._onward, self._outcome, self._exchange.attempts, age_s)

    def _place(self, now: float) -> Reason | None:
        """A candidate, or why there is none."""
        routing, exchange, asked = self._routing, self._exchange, self._asked()
        placed = routing.place(self._snapshot, asked, self._session, now)
        reason = placed.decision.reason
        exchange.decision, exchange.session, self._outcome = reason, placed.key, placed.outcome
        routing.decided[reason][0] += 1
        if self._session is not None:
            routing.bound[placed.outcome][0] += 1
        candidate = placed.decision.candidate
        if candidate is None:
            return reason
        onward = routing.onward(self._snapshot, candidate)
        if self._attempts is None:
            routing.remember(self._snapshot, asked, onward, reason)
        self._send_to(onward, now)
        return None

    def _asked(self) -> Asked:
        """A request takes one turn, however often it is tried."""
        routing, model = self._routing, self._model
        asked = Asked(INFERENCE_MODEL, model)
        if self._attempts is not None:
            asked.tried = self._attempts.tried
        if routing.takes_turns and (INFERENCE_MODEL, model) in self._snapshot.routes:
            if self._turn < 0:
                self._turn = routing.turn(model)
            asked.turn = self._turn
        elif routing.spreads_by_key:
            asked.spread_key = (self._exchange.request_id or "").encode()
        return asked

    def _send_to(self, onward: Onward, now: float) -> None:
        """Everything that depends on the candidate; a second time it writes over the first."""
        routing, exchange = self._routing, self._exchange
        if onward.selected is None:
            routing.metrics.selections.add(onward.candidate.name, onward.candidate.site)
        else:
            onward.selected[0] += 1
        if routing.cooling.until:
            routing.cooling.chosen(onward.cluster, now)
        self._onward = onward
        exchange.cluster = onward.cluster
        exchange.candidate = onward.stable_id
        exchange.trusts_unsent = onward.trusts_unsent
        exchange.credential = onward.credential
        if onward.is_hop:
            fields = exchange.request.fields
            fields[CANDIDATE] = onward.told
            fields[REQUEST_ID] = routing.new_id().encode()
            fields[REVISION] = onward.revision
        elif self._attempts is not None:  # the one before may have been a hop
            fields = exchange.request.fields
            for name in (CANDIDATE, REQUEST_ID, REVISION):
                fields.pop(name, None)


def _within(cluster: Cluster, first_byte_s: float | None) -> Cluster:
    """The same endpoints and connections under the request's own timeout, where it has one."""
    if first_byte_s is None:
        return cluster
    made = copy.copy(cluster)
    within = min(first_byte_s, cluster.timeouts.first_byte_s)
    made.timeouts = replace(cluster.timeouts, first_byte_s=within)
    return made
