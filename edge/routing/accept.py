"""Takes documents in and keeps the last good one: whatever is offered, what was accepted before stays whole.

    bytes -> the same again? -> grid.contract.parse -> a new Snapshot for every View, by one reference each

A View is one configuration's eyes on the overlay: it knows which clusters that configuration has. Two may
live side by side while a configuration is exchanged, and each routes by its own index of the same overlay.
Who reads the file, and when, is elsewhere: this takes bytes and an instant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from weakref import WeakSet

from edge.routing.snapshot import Snapshot, index
from grid.contract.overlay import Overlay, Scope
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected, RejectReason
from grid.contract.status import Rejection

_MISSING = b"no file"


class Outcome(StrEnum):
    """What became of a document; values are metric labels. REFRESHED: the same routes, stated anew."""

    ACCEPTED = "accepted"
    REFRESHED = "refreshed"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"


@dataclass(slots=True, eq=False, weakref_slot=True)
class View:
    """snapshot: what to route by now, None before the first overlay; a request takes it once."""

    clusters: Container[str]
    snapshot: Snapshot | None = None


@dataclass(slots=True)
class Accepted:
    """One overlay file's history in this process; handed on over reloads of the configuration.

    scope, namespace: whose documents are taken; only the 1.0.0 envelope says a namespace.
    overlay: the last accepted, None before the first. accepted_at: Unix seconds, when it was accepted or
    refreshed. rejections: how many documents were refused, by reason. last_rejection: None before the first.
    detail: of the last rejection, for a log line.
    """

    scope: Scope = field(default_factory=Scope)
    namespace: str = ""
    overlay: Overlay | None = None
    accepted_at: float = 0.0
    rejections: Counter[RejectReason] = field(default_factory=Counter)
    last_rejection: Rejection | None = None
    detail: str = ""
    _seen: bytes = b""
    _good: bytes = b""
    _views: WeakSet[View] = field(default_factory=WeakSet)

    def view(self, clusters: Container[str]) -> View:
        """A view that follows from now on, for as long as somebody holds it."""
        made = View(clusters, self._index(clusters))
        self._views.add(made)
        return made

    @property
    def unconfigured(self) -> int:
        """Candidates of the overlay in use that a configuration here has no cluster for."""
        return max((view.snapshot.unconfigured for view in self._views if view.snapshot), default=0)

    def offer(self, content: bytes | None, now: float) -> Outcome:
        """Take *content* in, or keep what is there. content: None when there is no file. now: Unix seconds.

        The same bytes again are not looked at, and a refusal of them is not counted twice. The accepted ones
        put back after others are no news either: they make nothing younger.
        """
        seen = _MISSING if content is None else sha256(content).digest()
        if seen in (self._seen, self._good):
            self._seen = seen
            return Outcome.UNCHANGED
        try:
            if content is None:
                raise OverlayRejected(RejectReason.MISSING_KEY, "no file")
            overlay = parse(content, expected=self.scope, previous=self.overlay, now=now)
            if overlay.namespace and self.namespace not in ("", overlay.namespace):
                raise OverlayRejected(RejectReason.SCOPE_MISMATCH, "another namespace's")
        except OverlayRejected as rejected:
            # Another moment may find a document from the future sound; any other stays what it is.
            self._seen = b"" if rejected.reason is RejectReason.CLOCK_SKEW else seen
            return self._reject(rejected, now)
        self._seen = self._good = seen
        return self._accept(overlay, now)

    def _accept(self, overlay: Overlay, now: float) -> Outcome:
        before = self.overlay
        self.overlay, self.accepted_at = overlay, now
        for view in self._views:
            view.snapshot = self._index(view.clusters)
        is_same = before is not None and before.digest == overlay.digest
        return Outcome.REFRESHED if is_same else Outcome.ACCEPTED

    def _reject(self, rejected: OverlayRejected, now: float) -> Outcome:
        self.rejections[rejected.reason] += 1
        self.last_rejection = Rejection(reason=rejected.reason, at=now)
        self.detail = rejected.detail
        return Outcome.REJECTED

    def _index(self, clusters: Container[str]) -> Snapshot | None:
        return None if self.overlay is None else index(self.overlay, clusters, self.accepted_at)
