"""From offers and one gateway's perspective to its overlay. Same inputs, same bytes.

    offers by capability -> rank each -> the first 1,024 by rank -> candidates -> digest -> revision, validity

The revision counts contents: one more exactly when the digest is another. A document whose content stands is
kept as it was, score and all, until half its life is over; so a quiet grid writes nothing, and a reader that
sees `valid_until` pass knows that its writer is gone.

No candidate at all is a document too: the gateway must say "none" rather than go on with yesterday's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_

from grid.contract.overlay import MAX_CANDIDATES, Candidate, Format, Overlay
from grid.contract.write import digest_of, routed_text
from grid.overlay.target import Rendered, Target
from grid.scoring.distance import Sight
from grid.scoring.offer import Offer
from grid.scoring.rank import Placed, Preference, Ranking, rank

Capability = tuple[str, str]
Offers = Mapping[Capability, Sequence[Offer]]

# A ConfigMap ends at 1 MiB, all of it; the document leaves room for its metadata.
MAX_ROUTED_BYTES = 900_000


@dataclass(slots=True)
class Shelf:
    """One capability's ranking and what it came from; its candidates and their texts as far as needed."""

    offers: tuple[Offer, ...]
    past: Mapping[str, int]
    ranking: Ranking
    candidates: list[Candidate] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def lay_out(self, count: int) -> None:
        """Makes the first *count* candidates and their texts, best first; each is made once."""
        for place in range(len(self.candidates), count):
            candidate = _candidate(self.ranking.placed(place), place)
            self.candidates.append(candidate)
            # Gateways that see alike are told alike: such texts are held once.
            self.texts.append(sys.intern(routed_text(candidate)))


@dataclass(slots=True)
class Laid:
    """What shelves come to together: the candidates that fit, their texts, the digest, who is a duplicate."""

    shelves: list[Shelf]
    candidates: tuple[Candidate, ...]
    texts: tuple[str, ...]
    digest: str
    dropped: int
    duplicates: tuple[str, ...]


@dataclass(slots=True)
class Memo:
    """One target's rankings of the last time, so that a change to one capability ranks that one only.

    Holding it changes no result: what was made is used again only where everything it came from is the same.
    """

    target: Target | None = None
    preference: Preference | None = None
    sight: Sight | None = None
    shelves: dict[Capability, Shelf] = field(default_factory=dict)
    previous: Overlay | None = None
    pasts: dict[Capability, dict[str, int]] = field(default_factory=dict)
    laid: Laid | None = None


_NO_PAST: Mapping[str, int] = {}


def render(
    target: Target,
    offers: Offers,
    preference: Preference,
    previous: Overlay | None,
    now: float,
    memo: Memo | None = None,
) -> Rendered:
    """The overlay *target* should have at *now*.

    offers: by (kind, name). previous: the overlay it was given last, whose order and revision carry on.
    """
    memo = Memo() if memo is None else memo
    if memo.target != target or memo.preference != preference:
        memo.target, memo.preference, memo.shelves, memo.laid = target, preference, {}, None
        memo.sight = Sight(target.view.place)
    shelves = _rank_all(target, offers, preference, previous, memo)
    if memo.laid is None or not _are_one(memo.laid.shelves, shelves):
        memo.laid = _lay(target, shelves)
    laid, digest = memo.laid, memo.laid.digest
    if previous is not None and previous.digest == digest and not _is_aged(previous, target.max_age_s, now):
        return Rendered(previous, due=False, dropped=laid.dropped, duplicates=laid.duplicates)
    overlay = Overlay(
        format=Format.V1ALPHA2,
        grid_id=target.grid_id,
        network=target.network,
        gateway=target.gateway,
        site=target.site,
        digest=digest,
        candidates=laid.candidates,
        revision=next_revision(previous, digest),
        generated_at=now,
        valid_until=now + target.max_age_s,
    )
    return Rendered(overlay, due=True, dropped=laid.dropped, duplicates=laid.duplicates, texts=laid.texts)


def _lay(target: Target, shelves: list[Shelf]) -> Laid:
    candidates, texts = _bounded(shelves)
    return Laid(
        shelves=shelves,
        candidates=candidates,
        texts=texts,
        digest=digest_of(target.grid_id, target.network, target.gateway, target.site, texts),
        dropped=sum([len(shelf.ranking.rows) for shelf in shelves]) - len(candidates),
        duplicates=tuple(sorted({twin.provider for shelf in shelves for twin in shelf.ranking.duplicates})),
    )


def _are_one(before: Sequence[Shelf], shelves: Sequence[Shelf]) -> bool:
    """Whether both are the very same shelves in one order."""
    return len(before) == len(shelves) and all(map(is_, before, shelves))


def next_revision(previous: Overlay | None, digest: str) -> int:
    """The count goes on from *previous*, also from one another replica or an earlier process wrote."""
    if previous is None or previous.revision is None:
        return 1
    return previous.revision if previous.digest == digest else previous.revision + 1


def _is_aged(previous: Overlay, max_age_s: float, now: float) -> bool:
    """Past half its life, promised for another length, or stamped by a clock that ran ahead of ours."""
    generated_at = previous.generated_at or 0.0
    return not generated_at <= now < generated_at + max_age_s / 2 or previous.max_age_s != max_age_s


def _rank_all(
    target: Target, offers: Offers, preference: Preference, previous: Overlay | None, memo: Memo
) -> list[Shelf]:
    """Every capability ranked, in the order of (kind, name)."""
    if memo.previous is not previous:
        memo.previous, memo.pasts = previous, _pasts(previous)
    kept, memo.shelves = memo.shelves, {}
    for capability in sorted(offers):
        offered, past = tuple(offers[capability]), memo.pasts.get(capability, _NO_PAST)
        shelf = kept.get(capability)
        if shelf is None or shelf.offers != offered or (shelf.past is not past and shelf.past != past):
            shelf = Shelf(offered, past, rank(offered, target.view, preference, past, memo.sight))
        memo.shelves[capability] = shelf
    return list(memo.shelves.values())


def _pasts(previous: Overlay | None) -> dict[Capability, dict[str, int]]:
    """Ranks by stable id, by capability, as *previous* has them."""
    found: dict[Capability, dict[str, int]] = {}
    for candidate in () if previous is None else previous.candidates:
        found.setdefault((candidate.kind, candidate.name), {})[candidate.stable_id] = candidate.rank
    return found


def _candidate(placed: Placed, place: int) -> Candidate:
    offer = placed.offer
    return Candidate(
        kind=offer.kind,
        name=offer.name,
        site=offer.place.site,
        cluster=offer.cluster,
        stable_id=offer.stable_id,
        admission=placed.admission,
        tier=placed.tier,
        rank=place,
        fresh=placed.fresh,
        score=round(placed.score, 4),
        credential=offer.credential,
    )


def _bounded(shelves: Sequence[Shelf]) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """What fits, with its texts, in the document's order. The lowest-ranked go first, of any capability."""
    counts = _shares([len(shelf.ranking.rows) for shelf in shelves])
    candidates: list[Candidate] = []
    texts: list[str] = []
    for shelf, count in zip(shelves, counts, strict=True):
        shelf.lay_out(count)
        candidates += shelf.candidates[:count]
        texts += shelf.texts[:count]
    if not _fits(texts):
        kept = _cut(candidates, texts)
        return tuple([candidates[place] for place in kept]), tuple([texts[place] for place in kept])
    return tuple(candidates), tuple(texts)


def _shares(counts: Sequence[int]) -> list[int]:
    """How many each keeps of 1,024: everybody's best before anybody's second, and so on."""
    shares = [0] * len(counts)
    room = MAX_CANDIDATES
    for depth in range(max(counts, default=0)):
        takers = [number for number, count in enumerate(counts) if count > depth][:room]
        for number in takers:
            shares[number] += 1
        room -= len(takers)
    return shares


def _fits(texts: Sequence[str]) -> bool:
    # A letter has at most 4 bytes; most documents need no closer look.
    return (
        4 * sum(map(len, texts)) <= MAX_ROUTED_BYTES
        or sum([len(text.encode()) for text in texts]) <= MAX_ROUTED_BYTES
    )


def _cut(candidates: Sequence[Candidate], texts: Sequence[str]) -> list[int]:
    """Places of the best-ranked whose bytes fit."""
    kept: list[int] = []
    size = 0
    for place in sorted(range(len(texts)), key=lambda place: candidates[place].rank):
        size += len(texts[place].encode())
        if size > MAX_ROUTED_BYTES:
            break
        kept.append(place)
    return sorted(kept)
