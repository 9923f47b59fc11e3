"""Notes every overlay revision the moment it is rendered, synced and accepted, for the timeline.

    rendered    edge-control's ConfigMap, by a watch     at: when the watch brought it
    synced      the file the edge reads                  at: its modification time
    accepted    the edge's /status                       at: what the edge says, its own clock

All three clocks are this machine's: the lab runs on one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from e2e.lab import CONTROL, US, Lab
from grid.contract.overlay import Overlay
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected

_EVERY_S = 0.02
RENDERED, SYNCED, ACCEPTED = "rendered", "synced", "accepted"


@dataclass(frozen=True, slots=True)
class Noted:
    """One revision at one of the three places. at: Unix seconds. overlay: None for accepted."""

    at: float
    place: str
    revision: int
    overlay: Overlay | None = None


@dataclass
class Watch:
    """Looks from three threads, and keeps each revision's first sight."""

    lab: Lab
    edge: str = US
    _noted: list[Noted] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def noted(self) -> tuple[Noted, ...]:
        return tuple(self._noted)

    def first(self, place: str, revision: int) -> Noted | None:
        """When a revision, or a later one, was first seen at a place."""
        return next((n for n in self._noted if n.place == place and n.revision >= revision), None)

    @contextmanager
    def looking(self) -> Iterator[Watch]:
        looks = (self._rendered(), self._synced, self._accepted)
        threads = [threading.Thread(target=self._look, args=(look,), daemon=True) for look in looks]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(30)

    def _look(self, look: Callable[[], Noted | None]) -> None:
        last = -1
        while not self._stop.is_set():
            with suppress(Exception):  # what cannot be looked at now is looked at again
                found = look()
                if found is not None and found.revision != last:
                    last = found.revision
                    self._noted.append(found)
            self._stop.wait(_EVERY_S)

    def _rendered(self) -> Callable[[], Noted | None]:
        kube = self.lab.fresh_kube(CONTROL)

        def look() -> Noted | None:
            overlay = self.lab.rendered(self.edge, kube)
            return Noted(time.time(), RENDERED, overlay.revision or 0, overlay)

        return look

    def _synced(self) -> Noted | None:
        path = self.lab.overlay_file(self.edge)
        try:
            data, at = path.read_bytes(), path.stat().st_mtime
            overlay = parse(data)
        except (OSError, OverlayRejected):
            return None
        return Noted(at, SYNCED, overlay.revision or 0, overlay)

    def _accepted(self) -> Noted | None:
        accepted = self.lab.edge_status(self.edge).accepted
        if accepted is None:
            return None
        return Noted(accepted.accepted_at, ACCEPTED, accepted.revision or 0)
