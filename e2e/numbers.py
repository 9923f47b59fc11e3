"""How long a failover took, and where the time went. Pure: a record in, numbers out.

    detected     fault -> the revision without the provider is rendered
    synced       rendered -> in the file the edge reads
    accepted     in the file -> the edge routes by it
    converged    fault -> accepted: all of it
    answered     fault -> the first request sent after it that was answered: what a client sees

Request failover is what a request that met the loss took, in milliseconds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from e2e.play import Record
from e2e.traffic import Sent
from e2e.watch import ACCEPTED, RENDERED, SYNCED, Noted
from grid.contract.overlay import Admission

_NOTICED_S = 3.0
"""The promise: by then nobody is sent to what was taken down."""


@dataclass(frozen=True, slots=True)
class Failover:
    """Seconds each; None where it was not seen. slowest_ms: of the requests sent from the fault until the
    edge routed anew. failed: requests that failed while a fault could not be known yet; failed_elsewhere:
    at any other time."""

    detected: float | None
    synced: float | None
    accepted: float | None
    converged: float | None
    answered: float | None
    slowest_ms: float | None
    failed: int
    failed_elsewhere: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Of several values: median, 99th percentile and maximum. count: how many there were."""

    count: int
    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        if not values:
            return None
        ordered = sorted(values)
        last = len(ordered) - 1
        return cls(len(ordered), statistics.median(ordered), ordered[round(last * 0.99)], ordered[-1])


def failover(record: Record, site: str) -> Failover | None:
    """Of the first fault of a record, as the loss of a site. None where there was none."""
    fault = next((m.at for m in record.marks if m.lane == "fault"), None)
    if fault is None:
        return None
    rendered = _first(record, fault, RENDERED, lambda n: _is_closed(n, site))
    revision = rendered.revision if rendered is not None else None
    written = None if revision is None else _first(record, fault, SYNCED, lambda n: n.revision >= revision)
    taken = None if revision is None else _first(record, fault, ACCEPTED, lambda n: n.revision >= revision)
    end = taken.at if taken is not None else record.ended_at
    during = [s for s in record.sent if fault <= s.at <= end]
    after = [s.at + s.took_s for s in record.sent if s.at >= fault and s.ok]
    failed = sum(not s.ok for s in record.sent if _met_a_fault(s, record))
    return Failover(
        detected=_between(fault, rendered),
        synced=_between(rendered, written),
        accepted=_between(written, taken),
        converged=_between(fault, taken),
        answered=min(after) - fault if after else None,
        slowest_ms=max((s.took_s * 1e3 for s in during), default=None),
        failed=failed,
        failed_elsewhere=sum(not s.ok for s in record.sent) - failed,
    )


def _met_a_fault(sent: Sent, record: Record) -> bool:
    """Whether a request was under way when something was taken down, or sent while that could not be
    known yet."""
    faults = [m.at for m in record.marks if m.lane == "fault" and not m.text.startswith("restore")]
    return any(sent.at - sent.took_s <= at + _NOTICED_S and at <= sent.at + sent.took_s for at in faults)


def accept_delays(record: Record) -> tuple[float, ...]:
    """Seconds from the render of each revision to its acceptance by the edge. The first one seen was
    there before anybody looked."""
    delays = []
    for rendered in [n for n in record.noted if n.place == RENDERED][1:]:
        taken = _first(record, rendered.at - 1.0, ACCEPTED, _is_revision(rendered.revision))
        if taken is not None:
            delays.append(max(0.0, taken.at - rendered.at))
    return tuple(delays)


def _first(record: Record, since: float, place: str, holds: Callable[[Noted], bool]) -> Noted | None:
    found = [n for n in record.noted if n.place == place and n.at >= since and holds(n)]
    return min(found, key=lambda n: n.at, default=None)


def _is_revision(revision: int) -> Callable[[Noted], bool]:
    return lambda noted: noted.revision == revision


def _is_closed(noted: Noted, site: str) -> bool:
    candidates = noted.overlay.candidates if noted.overlay is not None else ()
    return not any(c.site == site and c.admission is Admission.NEW_AND_EXISTING for c in candidates)


def _between(one: Noted | float | None, other: Noted | None) -> float | None:
    if one is None or other is None:
        return None
    return max(0.0, other.at - (one if isinstance(one, float) else one.at))
