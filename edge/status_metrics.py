"""Gauges of the overlay, the sessions and readiness, read at each scrape."""

from __future__ import annotations

from collections.abc import Mapping

from edge.metrics import EdgeMetrics
from edge.readiness import Readiness
from edge.routing.freshness import Age, judge
from edge.routing.snapshot import Snapshot
from edge.status import status
from grid.contract.status import NotReady
from grid.telemetry.metrics import Label

Values = Mapping[tuple[str, ...], float]


def show(metrics: EdgeMetrics, readiness: Readiness) -> None:
    """Adds the gauges. Once a process."""
    gauge, shown = metrics.metrics.gauge, _Shown(readiness)
    reason, state = Label("reason", set(map(str, NotReady))), Label("state", set(map(str, Age)))
    reach = Label("reach", {"configured", "unconfigured"})
    gauge("praxis_ready", "Whether clients may be sent here.", read=shown.ready)
    gauge("praxis_not_ready", "1 for each reason.", reason, read=shown.why)
    gauge("praxis_overlay_age_seconds", "Since accepted or refreshed.", read=shown.age)
    gauge("praxis_overlay_age_state", "1 for the present one.", state, read=shown.state)
    gauge("praxis_overlay_info", "1 for the one in use.", shown.revision, shown.digest, read=shown.info)
    gauge("praxis_overlay_candidates", "Of the one in use.", reach, read=shown.candidates)
    gauge("praxis_affinity_bindings", "Sessions held.", read=shown.bindings)


class _Shown:
    """revision, digest: labels that know the present value alone, so that old ones leave no series."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self.revision, self.digest = Label("revision"), Label("digest")

    def ready(self) -> Values:
        return {(): float(not self._readiness.reasons())}

    def why(self) -> Values:
        reasons = self._readiness.reasons()
        return {(str(reason),): float(reason in reasons) for reason in NotReady}

    def age(self) -> Values:
        age_s = status(self._readiness).age_s
        return {} if age_s is None else {(): age_s}

    def state(self) -> Values:
        readiness = self._readiness
        found = [r for r in readiness.routes() if r.routing.age is not None]
        if not found or found[0].routing.age is None:
            return {}
        now = judge(found[0].view.snapshot, found[0].routing.age, readiness.wall()).state
        return {(str(each),): float(each is now) for each in Age}

    def info(self) -> Values:
        snapshot = self._snapshot()
        if snapshot is None:
            return {}
        label, digest = snapshot.overlay.label, snapshot.overlay.digest
        self.revision.values, self.digest.values = {label}, {digest}
        return {(label, digest): 1.0}

    def candidates(self) -> Values:
        snapshot = self._snapshot()
        if snapshot is None:
            return {}
        apart = snapshot.unconfigured
        whole = len(snapshot.overlay.candidates)
        return {("configured",): float(whole - apart), ("unconfigured",): float(apart)}

    def bindings(self) -> Values:
        return {(): float(sum(len(route.routing.bindings) for route in self._readiness.routes()))}

    def _snapshot(self) -> Snapshot | None:
        return next((route.view.snapshot for route in self._readiness.routes()), None)
