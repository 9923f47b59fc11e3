"""Why each candidate stands where it stands, in words: for `explain`, not for machines to act on."""

from __future__ import annotations

from collections.abc import Iterator

from grid.scoring.rank import Placed, Preference, Ranking
from grid.scoring.signals import Score, score


def parts(placed: Placed, preference: Preference) -> Score:
    """The weighted contributions that make a candidate's score."""
    return score(placed.offer.signals, placed.offer.category, placed.tier, preference.weights)


def explain(ranking: Ranking, preference: Preference) -> Iterator[str]:
    """One line a candidate, best first, then one line an offer that was refused or is a duplicate."""
    for place, placed in enumerate(ranking.ranked):
        freshness = "fresh" if placed.fresh else "stale"
        yield (
            f"{place}  {_who(placed.offer.place.site, placed.offer.cluster)}: {placed.admission} "
            f"({placed.offer.reason}), {placed.tier}, {freshness}, score {placed.score:.2f} = "
            f"{_sum(parts(placed, preference))}"
        )
    for offer, refusal in ranking.refused:
        yield f"-  {_who(offer.place.site, offer.cluster)}: refused, {refusal}"
    for offer in ranking.duplicates:
        yield f"-  {_who(offer.place.site, offer.cluster)}: duplicate, {offer.provider} is the same candidate"


def _who(site: str, cluster: str) -> str:
    return f"{site} by {cluster}"


def _sum(found: Score) -> str:
    return (
        f"locality {found.locality:.2f} + queue {found.queue_depth:.2f} + kv {found.kv_cache:.2f} + "
        f"prefix {found.prefix_cache:.2f} + latency {found.latency:.2f} + cost {found.cost:.2f}"
    )
