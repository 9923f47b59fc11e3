"""What a selection answers: the candidate and why, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grid.contract.overlay import Candidate


class Reason(StrEnum):
    """Why this candidate, or why none; values are metric labels and log fields."""

    BOUND = "bound"
    AFFINITY = "affinity"
    SPREAD = "spread"
    RANK = "rank"
    FORBIDDEN = "forbidden"
    EXPIRED = "overlay_expired"
    UNKNOWN = "unknown_capability"
    UNCONFIGURED = "no_configured_cluster"
    NOT_RESIDENT = "no_allowed_site"
    EXHAUSTED = "all_candidates_failed"
    CLOSED = "no_candidate_open"


@dataclass(slots=True)
class Decision:
    """candidate: None when the request is refused. considered: among how many the reason chose; of a
    refusal, how many candidates the capability has here.

    Not frozen, since freezing triples what making one costs. Nobody changes one: those that depend on the
    snapshot alone are made with it and given to every request.
    """

    candidate: Candidate | None
    reason: Reason
    considered: int
