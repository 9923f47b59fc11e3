"""What the operator counts; labels are closed sets, so no resource's name is a time series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from grid.reconcile.decide import Decision
from grid.reconcile.exposition import ScrapeReason
from grid.reconcile.world import World
from grid.scoring.admission import Reason
from grid.telemetry.metrics import Label, Metrics

_VERBS = {"WriteStatus", "WriteOverlay", "RemoveOverlay", "WriteSite", "Emit"}
_PHASES = {"Pending", "Discovered", "Connecting", "Active", "Unreachable", "Left"}
_STEPS = {"Rendered", "Distributed", "Accepted", "Serving"}


class OperatorMetrics:
    """Counters written by the loop and its parts; gauges of the last World and decision."""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self.metrics = made = Metrics()
        outcome = Label("outcome", {"done", "failed"})
        self.turns = made.histogram("grid_reconcile_seconds", "One decision, from World to actions.")
        self.actions = made.counter(
            "grid_actions_total", "Actions tried.", Label("verb", set(_VERBS)), outcome
        )
        scraped = Label("outcome", {"ok", "no_answer", *ScrapeReason})
        self.scrapes = made.counter("grid_scrapes_total", "Metric scrapes.", scraped)
        made.gauge("grid_leader", "Whether this process leads.", read=lambda: {(): float(leads())})
        self._sites = made.gauge("grid_sites", "Sites by phase.", Label("phase", set(_PHASES)))
        self._overlays = made.gauge(
            "grid_overlays", "Overlays by the last step proved.", Label("phase", set(_STEPS))
        )
        self._admissions = made.gauge(
            "grid_providers", "Providers by admission reason.", Label("reason", set(Reason))
        )
        self.restored = made.counter(
            "grid_overlays_restored_total", "Overlays put back after somebody else changed them."
        )
        self._candidates = made.gauge("grid_candidates", "Candidates in all overlays.")

    def turned(self, world: World, decision: Decision, seconds: float) -> None:
        """One turn of the loop."""
        self.turns.observe(seconds)
        phases: Counter[str] = Counter(
            site.status.phase if site.status else "Pending" for site in world.sites
        )
        outcomes = [outcome for served in decision.outcomes.values() for outcome in served]
        steps = Counter(outcome.phase for outcome in outcomes)
        reasons = Counter(kept.admitted.reason for kept in decision.memory.providers.values())
        self.restored.add(by=sum(o.write is not None and o.write.restored for o in outcomes))
        for phase in _PHASES:
            self._sites.set(phases[phase], phase)
        for step in _STEPS:
            self._overlays.set(steps[step], step)
        for reason in Reason:
            self._admissions.set(reasons[reason], reason)
        self._candidates.set(sum(len(outcome.rendered.overlay.candidates) for outcome in outcomes))
