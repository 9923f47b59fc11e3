"""What overlay-sync makes of a text it is shown: write it, leave it, or keep the last good one and say why.

The file is only ever replaced by a document that passed the same `parse` as the gateway's. What was written
stays the reference: a file somebody changed is put back, a document that goes back in history is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from grid.contract.overlay import Overlay, Scope
from grid.contract.parse import parse
from grid.contract.reasons import OverlayRejected, RejectReason


class Outcome(StrEnum):
    """What became of a text; a closed set, used as a metric label."""

    ACCEPTED = "accepted"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    DELETED = "deleted"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class Following:
    """good: the bytes that should be in the file, None before the first. overlay: the same, read.

    accepted_at: when good came. refreshed_at: when a source last confirmed it.
    problem: what is wrong with the source now, "" if nothing.
    """

    good: bytes | None = None
    overlay: Overlay | None = None
    accepted_at: float = 0.0
    refreshed_at: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """following: from now on. write: bytes for the file, None to leave it. detail: a reject reason, or ""."""

    following: Following
    outcome: Outcome
    write: bytes | None = None
    detail: str = ""


def began(existing: bytes | None, expected: Scope, now: float) -> Following:
    """What an earlier process left in the file is the reference for history, if it is good."""
    if existing is None:
        return Following()
    try:
        return Following(good=existing, overlay=parse(existing, expected=expected), accepted_at=now)
    except OverlayRejected:
        return Following()


def shown(following: Following, text: str | None, expected: Scope, now: float) -> Step:
    """The step for *text*, as the ConfigMap holds it; None if it has no such key."""
    try:
        if text is None:
            raise OverlayRejected(RejectReason.MISSING_KEY)
        data = text.encode("utf-8", "surrogatepass")
        if data == following.good:
            return Step(replace(following, refreshed_at=now, problem=""), Outcome.UNCHANGED)
        overlay = parse(data, expected=expected, previous=following.overlay, now=now)
    except OverlayRejected as refused:
        return Step(replace(following, problem=refused.reason), Outcome.REJECTED, detail=refused.reason)
    return Step(Following(data, overlay, now, now), Outcome.ACCEPTED, data)


def deleted(following: Following) -> Step:
    """The ConfigMap is gone: the last good document stays, and says so."""
    return Step(replace(following, problem=Outcome.DELETED), Outcome.DELETED)


def looked(following: Following, on_disk: bytes | None) -> Step | None:
    """The step when the file is not what was written; None if it is, or nothing was written yet."""
    if following.good is None or on_disk == following.good:
        return None
    return Step(following, Outcome.RESTORED, following.good)
