"""Reads a document's candidates, and holds that no two of them are the same thing.

Two readers share it: v1alpha2 states admission, tier and rank for each candidate; older formats may leave
them out, and then their order is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from grid.contract import fields
from grid.contract.digest import stable_id
from grid.contract.overlay import MAX_CANDIDATES, Admission, Candidate
from grid.contract.reasons import OverlayRejected, RejectReason

ReadCandidate = Callable[[fields.Json, int], Candidate]


def read_candidates(document: fields.Json, read: ReadCandidate) -> tuple[Candidate, ...]:
    """The document's candidates in its order, at most 1,024. *read* takes one and its place."""
    listed = fields.required(document, "candidates")
    if not isinstance(listed, list):
        raise OverlayRejected(RejectReason.MALFORMED_STRUCTURE, "candidates is not a list")
    if len(listed) > MAX_CANDIDATES:
        raise OverlayRejected(RejectReason.TOO_MANY_CANDIDATES, f"{len(listed)}, at most {MAX_CANDIDATES}")
    found = tuple([read(fields.mapping(item, "candidate"), place) for place, item in enumerate(listed)])
    _distinct((c.identity for c in found), len(found), RejectReason.DUPLICATE_CANDIDATE)
    _distinct((c.stable_id for c in found), len(found), RejectReason.DUPLICATE_STABLE_ID)
    _distinct(((c.kind, c.name, c.rank) for c in found), len(found), RejectReason.DUPLICATE_RANK)
    return found


def strict(item: fields.Json, _place: int) -> Candidate:
    """A v1alpha2 candidate: everything stated, and the stable id recomputed."""
    found = Candidate(
        *_identity(item),
        stable_id=fields.identifier(item, "stable_id"),
        admission=fields.admission(item),
        tier=fields.tier(item),
        rank=fields.counting(item, "rank", RejectReason.INVALID_RANK, least=0),
        fresh=fields.flag(item, "fresh", default=True),
        score=fields.score(item),
        credential=fields.credential(item),
    )
    if found.stable_id != stable_id(*found.identity):
        raise OverlayRejected(RejectReason.STABLE_ID_MISMATCH)
    return found


def lenient(item: fields.Json, place: int) -> Candidate:
    """An older candidate: what it leaves out has the old meaning, its rank is its place in the list."""
    identity = _identity(item)
    stated = {name for name, value in item.items() if value is not None}
    return Candidate(
        *identity,
        stable_id=fields.identifier(item, "stable_id") if "stable_id" in stated else stable_id(*identity),
        admission=fields.admission(item) if "admission_state" in stated else Admission.NEW_AND_EXISTING,
        tier=fields.tier(item) if "selection_tier" in stated else None,
        rank=place,
        fresh=fields.flag(item, "fresh", default=True),
        score=fields.score(item),
        credential=fields.credential(item),
    )


def not_empty(found: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Only v1alpha2 may say "nothing": an older empty list was a writer's accident."""
    if not found:
        raise OverlayRejected(RejectReason.NO_CANDIDATES)
    return found


def _identity(item: fields.Json) -> tuple[str, str, str, str]:
    return (
        fields.identifier(item, "kind"),
        fields.identifier(item, "name"),
        fields.identifier(item, "site"),
        fields.identifier(item, "cluster"),
    )


def _distinct(keys: Iterable[Hashable], count: int, reason: RejectReason) -> None:
    if len(set(keys)) != count:
        raise OverlayRejected(reason)
