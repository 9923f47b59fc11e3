"""Whether a traffic manager may send clients here, and if not, why: a pure verdict over what is in use.

    listening, not draining, certificates valid, an overlay of sound age, the routes that must be open

One provider's failure is none of these: while another candidate is open the gateway is of use. What it needs
to tell who clients are (keys, secrets) is read when a configuration is built, and one that lacks it is never
taken into use; so only certificates, which end by themselves, are asked about here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from edge.built import Built
from edge.chain import Chain
from edge.filters.grid_route.filter import GridRoute
from edge.readiness_tls import Material
from edge.routing.coverage import coverage, is_covered
from edge.routing.freshness import Age, Freshness, judge
from grid.contract.names import INFERENCE_MODEL
from grid.contract.status import Coverage, NotReady

log = logging.getLogger("edge.readiness")

_BY_AGE = {
    Age.ABSENT: NotReady.NO_OVERLAY,
    Age.NOT_READY: NotReady.OVERLAY_AGED,
    Age.EXPIRED: NotReady.OVERLAY_EXPIRED,
}


class Serving(Protocol):
    """What readiness looks at of the server."""

    draining: bool
    built: Built | None

    def connections(self) -> Mapping[str, int]:
        """listener name -> open connections; empty when nobody listens."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One grid_route. freshness: None where candidates do not age."""

    freshness: Freshness | None
    coverage: Coverage


def standing(route: GridRoute, now: float) -> Standing:
    """now: Unix seconds."""
    snapshot, age = route.view.snapshot, route.routing.age
    required = [(INFERENCE_MODEL, name) for name in route.options.required_models]
    return Standing(
        None if age is None else judge(snapshot, age, now),
        coverage(snapshot, required, route.routing.rules.policy),
    )


def routes(chains: Mapping[str, Chain]) -> tuple[GridRoute, ...]:
    """The grid_routes of *chains*, each once, in order."""
    found = (step.filter for chain in chains.values() for step in chain.steps)
    return tuple({id(route): route for route in found if isinstance(route, GridRoute)}.values())


def against(
    standings: Iterable[Standing], *, listening: bool, draining: bool, certified: bool
) -> tuple[NotReady, ...]:
    """Why not, each reason once, in the contract's order; empty when ready."""
    found = {NotReady.NO_LISTENER} if not listening else set()
    found |= {NotReady.DRAINING} if draining else set()
    found |= {NotReady.TLS_MISSING} if not certified else set()
    for each in standings:
        found |= set(_against(each))
    return tuple(reason for reason in NotReady if reason in found)


def _against(standing: Standing) -> Iterator[NotReady]:
    state = standing.freshness.state if standing.freshness else Age.OK
    if state in _BY_AGE:
        yield _BY_AGE[state]
    if state is not Age.ABSENT and not is_covered(standing.coverage):
        yield NotReady.NO_COVERAGE


@dataclass(slots=True)
class Readiness:
    """The verdict on one running server. material: of the configuration in use. wall: Unix seconds."""

    server: Serving
    wall: Callable[[], float]
    material: Material = field(default_factory=Material)
    _said: tuple[NotReady, ...] = ()
    _aged: Age = Age.OK

    def routes(self) -> tuple[GridRoute, ...]:
        """Of the configuration in use."""
        built = self.server.built
        return () if built is None else routes(built.chains)

    def reasons(self) -> tuple[NotReady, ...]:
        """Empty when ready. What has no part in a grid is ready when it listens."""
        now = self.wall()
        return against(
            [standing(route, now) for route in self.routes()],
            listening=self.server.built is not None and bool(self.server.connections()),
            draining=self.server.draining,
            certified=self.material.is_valid(now),
        )

    def say(self) -> None:
        """Logs what changed since the last time: readiness, and an overlay that ages."""
        reasons, aged = self.reasons(), self._age()
        if reasons != self._said:
            level = logging.WARNING if reasons else logging.INFO
            log.log(level, "not ready" if reasons else "ready", extra={"reason": list(reasons)})
        if aged is not self._aged:
            level = logging.INFO if aged is Age.OK else logging.WARNING
            log.log(level, "overlay age", extra={"state": aged, "previous_state": self._aged})
        self._said, self._aged = reasons, aged

    def _age(self) -> Age:
        """The worst of all overlays."""
        now = self.wall()
        found = [judge(r.view.snapshot, r.routing.age, now).state for r in self.routes() if r.routing.age]
        return max(found, key=list(Age).index, default=Age.OK)
