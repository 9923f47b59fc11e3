"""What the choice of a candidate means for a request: where it goes, with what, and who is told what of it.

The same for every request that is sent there by one snapshot, so it is made once for each of its candidates.
So is what `edge.routing` decides for a request that brings nothing of its own, or a session already bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edge.metrics import EdgeMetrics
from edge.routing.bindings import Outcome
from edge.routing.snapshot import Snapshot
from edge.wire.messages import check_field
from edge.wire.pool import Cluster
from grid.contract.overlay import Candidate

_HOP = b"x-ai-routing-"
CANDIDATE, REQUEST_ID, REVISION = _HOP + b"candidate", _HOP + b"request-id", _HOP + b"revision"


@dataclass(slots=True, eq=False)
class Onward:
    """is_hop: the cluster is a gateway of the grid, which is told *told* and *revision*, and whose word that
    nothing was sent is believed where trusts_unsent. credential: which one to inject, None for a hop, which
    has its own. selected: where the choice is counted; None while a new overlay's names have no series yet.
    said: outcome of the binding -> what is recorded of the choice."""

    candidate: Candidate
    cluster: str
    stable_id: str
    is_hop: bool
    trusts_unsent: bool
    credential: str | None
    told: bytes
    revision: bytes
    selected: list[float] | None
    said: dict[Outcome, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Ready:
    """One model's. first: where a request without a session goes; held: stable_id -> where one bound to it
    goes. None, absent: not asked for yet, or to be decided each time."""

    first: Onward | None = None
    held: dict[str, Onward] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Known:
    """All that is remembered of one snapshot; it goes with it. ready: by model; onward: by stable_id."""

    snapshot: Snapshot | None = None
    ready: dict[str, Ready] = field(default_factory=dict)
    onward: dict[str, Onward] = field(default_factory=dict)


def onward(
    snapshot: Snapshot,
    candidate: Candidate,
    hops: frozenset[str],
    clusters: Mapping[str, Cluster],
    metrics: EdgeMetrics,
) -> Onward:
    """hops: clusters that are told. Raises UnsafeField: in older formats an id is whatever its writer
    chose."""
    is_hop = candidate.cluster in hops
    told = candidate.stable_id.encode()
    if is_hop:
        check_field(CANDIDATE, told)
    is_counted = candidate.name in metrics.model.values and candidate.site in metrics.site.values
    return Onward(
        candidate,
        candidate.cluster,
        candidate.stable_id,
        is_hop,
        is_hop and clusters[candidate.cluster].tls is not None,
        None if is_hop else _reference(candidate),
        told,
        snapshot.overlay.label.encode(),
        metrics.selections.cell(candidate.name, candidate.site) if is_counted else None,
    )


def _reference(candidate: Candidate) -> str | None:
    """The candidate's credential as `credential_inject` names it."""
    of = candidate.credential
    return None if of is None else f"{of.namespace}/{of.name}/{of.key}"
