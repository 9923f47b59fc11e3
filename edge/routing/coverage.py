"""What of a snapshot can be routed right now: for `/v1/models`, readiness and status.

Open means that a request without a session would find a candidate; who only serves sessions already bound is
not listed, since nobody new could use it.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from edge.routing.gates import open_to_new, resident
from edge.routing.select import ANYWHERE, Policy
from edge.routing.snapshot import Capability, Route, Snapshot
from grid.contract.names import INFERENCE_MODEL
from grid.contract.status import Coverage, Covered


def is_open(route: Route, policy: Policy = ANYWHERE) -> bool:
    """Whether new work for it has somewhere to go."""
    if policy.sites is None:
        return bool(route.choices.equals)
    return bool(open_to_new(resident(route.candidates, policy.sites)))


def routable(
    snapshot: Snapshot,
    allowed: Container[str] | None = None,
    policy: Policy = ANYWHERE,
    kind: str = INFERENCE_MODEL,
) -> tuple[str, ...]:
    """Names open to new work, sorted. allowed: those the tenant may use; None: any."""
    names = (
        route.name
        for route in snapshot.routes.values()
        if route.kind == kind and (allowed is None or route.name in allowed) and is_open(route, policy)
    )
    return tuple(sorted(names))


def coverage(
    snapshot: Snapshot | None, required: Collection[Capability], policy: Policy = ANYWHERE
) -> Coverage:
    """Counts for `/status`. required: capabilities the gateway's configuration must be able to route."""
    if snapshot is None:
        return Coverage(routes=0, open=0, missing=len(required))
    usable = {key for key, route in snapshot.routes.items() if is_open(route, policy)}
    missing = sum(capability not in usable for capability in required)
    return Coverage(routes=len(snapshot.routes), open=len(usable), missing=missing)


def covered(snapshot: Snapshot, policy: Policy = ANYWHERE) -> tuple[Covered, ...]:
    """Each capability for `/status`, in the overlay's order."""
    return tuple(
        Covered(
            kind=route.kind,
            name=route.name,
            candidates=len(route.candidates),
            open=len(open_to_new(resident(route.candidates, policy.sites))),
        )
        for route in snapshot.routes.values()
    )


def is_covered(found: Coverage) -> bool:
    """Whether the gateway is of use: nothing required is missing, and something is open. One provider's
    failure alone never makes it unready."""
    return found.missing == 0 and found.open > 0
