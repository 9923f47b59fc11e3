"""How old the accepted overlay is, and what follows: a pure function of instants and policy.

    absent                                  before the first overlay: not ready, serves nothing
    ok -> degraded -> not_ready             by age since it was last accepted or refreshed
    expired                                 past its own `valid_until`, or the gateway's own limit

Degraded only warns. Not ready takes the gateway out of its traffic manager, and those who still come are
served. Expired is not ready too, and refuses requests under `hard_expiry: reject` alone. Streams in flight
are never asked: nothing here is called for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from edge.routing.snapshot import Snapshot


class Age(StrEnum):
    """What the overlay's age means, from none to worst."""

    OK = "ok"
    DEGRADED = "degraded"
    NOT_READY = "not_ready"
    EXPIRED = "expired"
    ABSENT = "absent"


class HardExpiry(StrEnum):
    """What becomes of requests once an overlay has expired."""

    SERVE = "serve"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class AgePolicy:
    """Seconds of age; None: never. expires_after_s: beside a `valid_until`, which older formats have not."""

    degraded_after_s: float | None = 60.0
    not_ready_after_s: float | None = 300.0
    expires_after_s: float | None = None
    hard_expiry: HardExpiry = HardExpiry.SERVE


@dataclass(frozen=True, slots=True)
class Freshness:
    """age_s: None before the first overlay. serves: whether requests may be routed by it."""

    state: Age
    age_s: float | None
    serves: bool

    @property
    def is_ready(self) -> bool:
        """Whether its age alone would let the gateway be ready."""
        return self.state in (Age.OK, Age.DEGRADED)


def judge(snapshot: Snapshot | None, policy: AgePolicy, now: float) -> Freshness:
    """now: Unix seconds, by the clock of `accepted_at`. A clock that was set back makes nothing older."""
    if snapshot is None:
        return Freshness(Age.ABSENT, None, serves=False)
    age_s = max(0.0, now - snapshot.accepted_at)
    if _is_past(now, snapshot.overlay.valid_until) or _is_past(age_s, policy.expires_after_s):
        return Freshness(Age.EXPIRED, age_s, serves=policy.hard_expiry is HardExpiry.SERVE)
    if _is_past(age_s, policy.not_ready_after_s):
        return Freshness(Age.NOT_READY, age_s, serves=True)
    if _is_past(age_s, policy.degraded_after_s):
        return Freshness(Age.DEGRADED, age_s, serves=True)
    return Freshness(Age.OK, age_s, serves=True)


def may_serve(snapshot: Snapshot, policy: AgePolicy, now: float) -> bool:
    """What `judge` says of serving, for every request: only a policy that rejects looks at the time."""
    return policy.hard_expiry is not HardExpiry.REJECT or judge(snapshot, policy, now).serves


def _is_past(instant: float, limit: float | None) -> bool:
    """At the limit it is past: `valid_until` is the first instant it is not valid."""
    return limit is not None and instant >= limit
