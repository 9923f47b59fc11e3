"""One provider's capability as Grid knows it, before any perspective; and a gateway's view of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grid.contract.overlay import Admission, Credential
from grid.scoring.admission import Reason
from grid.scoring.distance import Place
from grid.scoring.health import Phase
from grid.scoring.signals import Category, Signals


class Freshness(StrEnum):
    """How old what is known is: within its bound, past it, or past the time a stale candidate may stay."""

    FRESH = "fresh"
    STALE = "stale"
    EXPIRED = "expired"


class Profile(StrEnum):
    """What a gateway does about what is not known: `external` stays closed, `workload` goes on."""

    EXTERNAL = "external"
    WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class Offer:
    """A capability (kind, name) at a site.

    place: of the provider's site. cluster: what gateways call the way to it.
    provider: the resource it comes from; tells duplicates apart and names them to people.
    access: labels a gateway's site must carry; empty allows every site.
    trusted: the site is Active: its certificate is the pinned one.
    admission, reason: the admission machine's answer.
    base: the part of the score that no perspective changes.
    """

    kind: str
    name: str
    place: Place
    cluster: str
    stable_id: str
    provider: str = ""
    category: Category = Category.OTHER
    access: tuple[tuple[str, str], ...] = ()
    trusted: bool = True
    phase: Phase = Phase.AVAILABLE
    freshness: Freshness = Freshness.FRESH
    admission: Admission = Admission.NEW_AND_EXISTING
    reason: Reason = Reason.OPEN
    signals: Signals = field(default_factory=Signals)
    base: float = 0.0
    credential: Credential | None = None


@dataclass(frozen=True, slots=True)
class View:
    """From where a gateway looks: its site's place and labels, and its profile.

    A gateway whose site is not known has a place without a name: nothing is near it, and no label matches.
    """

    place: Place
    labels: Mapping[str, str] = field(default_factory=dict)
    profile: Profile = Profile.EXTERNAL
