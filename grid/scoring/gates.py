"""Hard gates: what keeps a provider out of a gateway's overlay before anything is preferred.

    access policy -> residency -> trust -> lifecycle -> freshness -> admission

The order is the document's; the first gate that refuses is the reason given. No score, however good, passes a
gate.
"""

from __future__ import annotations

from enum import StrEnum

from grid.contract.overlay import Admission
from grid.scoring.admission import UNKNOWN
from grid.scoring.health import Phase
from grid.scoring.offer import Freshness, Offer, Profile, View

# Asked some 50,000 times a decision; a member looked up through its class costs four times one held by name.
_UNAVAILABLE, _EXPIRED, _NONE = Phase.UNAVAILABLE, Freshness.EXPIRED, Admission.NONE
_WORKLOAD = Profile.WORKLOAD


class Refusal(StrEnum):
    """Which gate refused, and why; a closed set, for `explain` and conditions."""

    ACCESS_POLICY = "access_policy"
    RESIDENCY = "residency"
    SITE_NOT_ACTIVE = "site_not_active"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    STATE_EXPIRED = "state_expired"
    ADMISSION_CLOSED = "admission_closed"


def access_policy(offer: Offer, view: View) -> Refusal | None:
    """The provider's selector is matched against the labels of the gateway's site, all of them."""
    for label, value in offer.access:
        if view.labels.get(label) != value:
            return Refusal.ACCESS_POLICY
    return None


def residency(offer: Offer, view: View) -> Refusal | None:
    """A gateway in a sovereignty zone uses providers of that zone only; a zone not said is another zone."""
    zone = view.place.sovereignty_zone
    return Refusal.RESIDENCY if zone and zone != offer.place.sovereignty_zone else None


def trust(offer: Offer, view: View) -> Refusal | None:  # noqa: ARG001 (gates have one shape)
    """Only a site whose certificate has been verified is routed to."""
    return None if offer.trusted else Refusal.SITE_NOT_ACTIVE


def lifecycle(offer: Offer, view: View) -> Refusal | None:  # noqa: ARG001
    """A provider that does not answer its probes takes nothing."""
    return Refusal.PROVIDER_UNAVAILABLE if offer.phase is _UNAVAILABLE else None


def freshness(offer: Offer, view: View) -> Refusal | None:  # noqa: ARG001
    """Stale is admission's matter until the stale candidate's time is over."""
    return Refusal.STATE_EXPIRED if offer.freshness is _EXPIRED else None


def admission(offer: Offer, view: View) -> Refusal | None:
    return Refusal.ADMISSION_CLOSED if admitted(offer, view) is _NONE else None


def refuse(offer: Offer, view: View) -> Refusal | None:
    """The first gate that refuses; None if all let the offer through."""
    if not offer.access and not view.place.sovereignty_zone and _is_open(offer):
        return None  # what the gates below would say of nearly all: there are 50,000 to ask for
    return (
        access_policy(offer, view)
        or residency(offer, view)
        or trust(offer, view)
        or lifecycle(offer, view)
        or freshness(offer, view)
        or admission(offer, view)
    )


def _is_open(offer: Offer) -> bool:
    """Whether the gates that look at the offer alone let it through, whatever the profile."""
    return (
        offer.trusted
        and offer.phase is not _UNAVAILABLE
        and offer.freshness is not _EXPIRED
        and offer.admission is not _NONE
    )


def admitted(offer: Offer, view: View) -> Admission:
    """The admission a gateway is told. Where nothing is known, a workload gateway goes on as before."""
    if view.profile is _WORKLOAD and offer.reason in UNKNOWN:
        return Admission.NEW_AND_EXISTING
    return offer.admission
