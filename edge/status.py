"""What the gateway says of itself at `/status`: the contract's one schema, for the operator and for people.

A gateway that routes by several overlays reports its first; its readiness is that of all.
"""

from __future__ import annotations

from edge.filters.grid_route.filter import GridRoute
from edge.readiness import Readiness, standing
from edge.routing.coverage import covered
from edge.routing.snapshot import Snapshot
from grid.contract.overlay import Scope
from grid.contract.status import Coverage, GatewayStatus, Loaded

_NOTHING = Coverage(routes=0, open=0, missing=0)


def status(readiness: Readiness) -> GatewayStatus:
    """Now. A gateway without a grid_route has no overlay and covers nothing."""
    routes, reasons = readiness.routes(), readiness.reasons()
    route = routes[0] if routes else None
    snapshot = route.view.snapshot if route else None
    whose = _scope(route, snapshot)
    accepted = route.file.accepted if route and route.file else None
    found = standing(route, readiness.wall()) if route else None
    freshness = found.freshness if found else None
    loaded = _loaded(snapshot) if snapshot else None
    serves = not readiness.server.draining and (freshness is None or freshness.serves)
    return GatewayStatus(
        network=whose.network or "",
        gateway=whose.gateway or "",
        site=whose.site or "",
        ready=not reasons,
        not_ready=reasons,
        draining=readiness.server.draining,
        accepted=loaded,
        serving=loaded if serves else None,
        age_s=freshness.age_s if freshness else None,
        rejections=accepted.rejections.total() if accepted else 0,
        last_rejection=accepted.last_rejection if accepted else None,
        coverage=found.coverage if found else _NOTHING,
        covered=covered(snapshot, route.routing.rules.policy) if route and snapshot else (),
        bindings=sum(len(each.routing.bindings) for each in routes),
    )


def _scope(route: GridRoute | None, snapshot: Snapshot | None) -> Scope:
    """Whose overlay it is: as the overlay says, before the first as it is expected to."""
    if snapshot is not None:
        overlay = snapshot.overlay
        return Scope(overlay.network, overlay.gateway, overlay.site)
    return route.file.accepted.scope if route and route.file else Scope()


def _loaded(snapshot: Snapshot) -> Loaded:
    overlay = snapshot.overlay
    return Loaded(
        revision=overlay.revision,
        label=overlay.label,
        digest=overlay.digest,
        generated_at=overlay.generated_at,
        valid_until=overlay.valid_until,
        accepted_at=snapshot.accepted_at,
        candidates=len(overlay.candidates),
    )
