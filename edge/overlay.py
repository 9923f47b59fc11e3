"""The overlay's file: followed, read whole and bounded, and offered to what keeps the last good one.

Its directory is watched, never the file: writers replace it, or the `..data` link beside it. After a change
there is a short silence to wait for. Reading and parsing take tens of milliseconds for a large document, so
they happen in a thread; the lock keeps a configuration that is being built at the same moment from missing an
update. Requests are touched by neither: they have the snapshot of the moment.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from watchfiles import awatch

from edge.metrics import EdgeMetrics
from edge.routing.accept import Accepted, Outcome, View
from grid.contract.overlay import Overlay
from grid.contract.strict_json import MAX_BYTES
from grid.telemetry.metrics import Label

log = logging.getLogger("edge.overlay")

# Not every change makes an event: network file systems, a folder that comes later. Looking costs a read and a
# digest, in a thread.
_LOOK_AGAIN_S = 1.0
# The watcher's own silence; a longer one is waited for here, since the watcher cannot be stopped within
# its own.
_STEP_MS = 25
_MOST_SILENCES = 10  # a writer that never pauses is not waited for longer
_NOTICE_S = 1.0  # until a reload's other file is followed; the build itself has looked at it

# Names of models and sites that have series of their own, over the life of the process: four overlays' worth.
_MOST_NAMES = 4_096


@dataclass(slots=True, eq=False)
class OverlayFile:
    """path: as configured, never resolved: a link beside it may be what changes."""

    path: Path
    accepted: Accepted
    _lock: Lock = field(default_factory=Lock)

    def look(self, now: float) -> Outcome:
        """Read the file and take it in, or keep what is there. now: Unix seconds. Blocks."""
        content = read(self.path)
        with self._lock:
            return self.accepted.offer(content, now)

    def view(self, clusters: Container[str]) -> View:
        """Eyes on it for a configuration with *clusters*."""
        with self._lock:
            return self.accepted.view(clusters)

    def unconfigured(self) -> int:
        """Candidates in use that a configuration here has no cluster for."""
        with self._lock:  # a configuration that is being built in a thread may add a view
            return self.accepted.unconfigured


def read(path: Path) -> bytes | None:
    """The file's content; None when there is none. One byte over the bound is enough to be refused by."""
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError:
        return None


Told = Callable[[OverlayFile, Outcome], None]
"""Hears what became of each document that was looked at."""


def heard(metrics: EdgeMetrics, file: OverlayFile, outcome: Outcome) -> None:
    """Counts what became of a document."""
    accepted = file.accepted
    metrics.overlays.add(outcome)
    if outcome is Outcome.REJECTED and accepted.last_rejection is not None:
        metrics.overlay_rejections.add(accepted.last_rejection.reason)
    elif outcome is Outcome.ACCEPTED and accepted.overlay is not None:
        admit(metrics, accepted.overlay)


def admit(metrics: EdgeMetrics, overlay: Overlay) -> None:
    """Lets the overlay's models and sites have series, as far as there is room."""
    for label, names in (
        (metrics.model, [candidate.name for candidate in overlay.candidates]),
        (metrics.site, [candidate.site for candidate in overlay.candidates]),
    ):
        _admit(label, names)


def _admit(label: Label, names: list[str]) -> None:
    for name in names:
        if len(label.values) >= _MOST_NAMES:
            return
        label.values.add(name)


async def follow_all(
    current: Callable[[], Mapping[OverlayFile, int]], wall: Callable[[], float], told: Told
) -> None:
    """Follows whatever *current* gives, file -> debounce in ms, which a reload may change; until
    cancelled."""
    async with asyncio.TaskGroup() as group:
        tasks: dict[tuple[OverlayFile, int], asyncio.Task[None]] = {}
        while True:
            wanted = set(current().items())
            for key in tasks.keys() - wanted:
                tasks.pop(key).cancel()
            for key in wanted - tasks.keys():
                tasks[key] = group.create_task(follow(key[0], wall, told, key[1]))
            await asyncio.sleep(_NOTICE_S)


async def follow(file: OverlayFile, wall: Callable[[], float], told: Told, debounce_ms: int = 25) -> None:
    """Takes in every change of *file* until cancelled. wall: Unix seconds. debounce_ms: silence to wait for
    after a change."""
    noticed, step_ms = _Noticed(), min(debounce_ms, _STEP_MS)
    async with asyncio.TaskGroup() as group:
        group.create_task(_watch(file.path.parent, noticed, step_ms))
        await asyncio.sleep(0)  # the watch stands now; what changed before it is found by looking once
        noticed.event.set()
        while True:
            await noticed.event.wait()
            await noticed.silence((debounce_ms - step_ms) / 1000)
            noticed.event.clear()
            try:
                await _look(file, wall, told)
            except Exception:  # a file that trips over a bug of ours must not end what serves
                log.exception("looking at the overlay failed")


@dataclass(slots=True)
class _Noticed:
    """event: set when the file should be looked at. changes: how many were seen, timers not among them."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    changes: int = 0
    silent_after: int = 0

    async def silence(self, quiet_s: float) -> None:
        """Returns when nothing changed for *quiet_s*, at once when nothing has changed since the last time;
        a writer that never pauses is waited for ten times as long."""
        for _ in range(_MOST_SILENCES):
            if self.silent_after == self.changes or quiet_s <= 0:
                return
            self.silent_after = self.changes
            await asyncio.sleep(quiet_s)
        self.silent_after = self.changes


async def _watch(folder: Path, noticed: _Noticed, step_ms: int) -> None:
    """Notices every change in *folder*, and every so often anyway, until cancelled."""
    while True:
        try:
            await _watch_one(folder, noticed, step_ms)
        except FileNotFoundError:
            pass  # it may come, or come again
        except (OSError, RuntimeError) as error:  # how the watcher says that there are no watches left
            log.warning("cannot watch the overlay, polling", extra={"reason": type(error).__name__})
        noticed.event.set()
        await asyncio.sleep(_LOOK_AGAIN_S)


async def _watch_one(folder: Path, noticed: _Noticed, step_ms: int) -> None:
    """Until *folder* is another one. Raises OSError or RuntimeError."""
    watched = _inode(folder)
    changes = awatch(
        folder,
        recursive=False,
        step=step_ms,
        debounce=10 * step_ms,
        rust_timeout=int(_LOOK_AGAIN_S * 1000),
        yield_on_timeout=True,
    )
    async for change in changes:
        noticed.changes += bool(change)
        noticed.event.set()
        if _inode(folder) != watched:
            return


def _inode(folder: Path) -> int:
    """Which directory the path leads to now: one made anew under the same name is not watched yet."""
    return folder.stat().st_ino


async def _look(file: OverlayFile, wall: Callable[[], float], told: Told) -> None:
    """Looks in a thread, tells, and logs what an operator wants to know a day later."""
    outcome = await asyncio.to_thread(file.look, wall())
    told(file, outcome)
    accepted = file.accepted
    if outcome is Outcome.REJECTED and accepted.last_rejection is not None:
        reason = accepted.last_rejection.reason
        log.error(
            "overlay rejected, the one in use stays", extra={"reason": reason, "fault": accepted.detail}
        )
    elif outcome is Outcome.ACCEPTED and accepted.overlay is not None:
        known = accepted.overlay
        log.info(
            "overlay accepted",
            extra={"revision": known.label, "digest": known.digest, "candidates": len(known.candidates)},
        )
        if apart := file.unconfigured():
            log.warning("candidates without a configured cluster", extra={"count": apart})
