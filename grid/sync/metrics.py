"""What overlay-sync counts, and what it says of itself at /readyz and /status."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grid.contract.instants import write_instant
from grid.contract.reasons import RejectReason
from grid.sync.follow import Following, Outcome
from grid.telemetry.metrics import Label, Metrics

Read = Callable[[], Following]


class SyncMetrics:
    """Counters written by the shell; gauges read from *following* at the scrape."""

    def __init__(self, following: Read, now: Callable[[], float]) -> None:
        self.metrics = made = Metrics()
        prefix = "grid_overlay_sync"
        self.events = made.counter(
            f"{prefix}_events_total", "Texts seen, by what became of them.", Label("outcome", set(Outcome))
        )
        self.rejections = made.counter(
            f"{prefix}_rejections_total", "Documents refused.", Label("reason", set(RejectReason))
        )
        self.writes = made.counter(
            f"{prefix}_writes_total", "Replacements of the file.", Label("outcome", {"success", "failure"})
        )
        self.reconnects = made.counter(
            f"{prefix}_reconnects_total", "Watches that ended.", Label("outcome", {"ended", "gone", "fault"})
        )
        made.gauge(f"{prefix}_revision", "Of the document in the file.", read=lambda: _revision(following()))
        made.gauge(
            f"{prefix}_age_seconds",
            "Since the source last confirmed it.",
            read=lambda: _age(following(), now()),
        )


def _revision(following: Following) -> dict[tuple[str, ...], float]:
    overlay = following.overlay
    return {} if overlay is None or overlay.revision is None else {(): float(overlay.revision)}


def _age(following: Following, now: float) -> dict[tuple[str, ...], float]:
    return {(): now - following.refreshed_at} if following.refreshed_at else {}


def not_ready(following: Following, *, write_failed: bool) -> Iterator[str]:
    """Why the file cannot be relied upon. A source that is away does not make it less good."""
    if following.good is None:
        yield "no valid overlay has been written"
    if write_failed:
        yield "the last write failed"


def status(following: Following, now: float) -> dict[str, object]:
    """The /status document."""
    overlay = following.overlay
    return {
        "revision": overlay.label if overlay else None,
        "digest": overlay.digest if overlay else None,
        "candidates": len(overlay.candidates) if overlay else None,
        "accepted_at": write_instant(following.accepted_at) if overlay else None,
        "update_age_s": round(now - following.refreshed_at, 3) if following.refreshed_at else None,
        "problem": following.problem or None,
    }
