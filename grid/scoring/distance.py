"""How far a provider's site is from a gateway, by what both sites say of where they stand.

    same_site < same_zone < same_region < cross_region < unknown

A perspective is a property of where a gateway is deployed; nothing of a request enters it. What a site does
not say is unknown, never assumed near.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grid.contract.overlay import Tier


@dataclass(frozen=True, slots=True)
class Place:
    """Where a site stands. "" is not said. A zone counts within its region only."""

    site: str
    region: str = ""
    zone: str = ""
    sovereignty_zone: str = ""


# Of a gateway whose site is not known: everything is unknown to it, and nothing local.
NOWHERE = Place("")


def distance(perspective: Place, provider: Place) -> Tier:
    """The tier *provider* is in, seen from *perspective*."""
    if not perspective.site:
        return Tier.UNKNOWN
    if perspective.site == provider.site:
        return Tier.SAME_SITE
    if not perspective.region or not provider.region:
        return Tier.UNKNOWN
    if perspective.region != provider.region:
        return Tier.CROSS_REGION
    if perspective.zone and perspective.zone == provider.zone:
        return Tier.SAME_ZONE
    return Tier.SAME_REGION


@dataclass(slots=True)
class Sight:
    """`distance` from one perspective, worked out once a site: providers are many, places fewer.

    A site that has moved is another Place, and looked at anew.
    """

    perspective: Place
    _seen: dict[str, tuple[Place, Tier]] = field(default_factory=dict)

    def tier(self, provider: Place) -> Tier:
        known = self._seen.get(provider.site)
        if known is None or known[0] is not provider:
            known = self._seen[provider.site] = (provider, distance(self.perspective, provider))
        return known[1]
