"""An overlay as values: what Grid decided for one gateway, whichever format it came in.

    Overlay ── whose it is (network, gateway, site), which one (revision, digest), how long (valid_until)
       └─ candidates, each with where it is, whether it takes work, its tier and its rank

Readers are in `parse`, the writer in `write`. Instants are Unix seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

# 1,024 candidates are a hundred models at ten sites; a gateway indexes that many in milliseconds.
MAX_CANDIDATES = 1_024
# A Kubernetes name ends at 253, a model name seldom passes 100.
MAX_IDENTIFIER_BYTES = 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# How far a writer's clock may be ahead of a reader's before its document is not believed.
CLOCK_SKEW_S = 30.0


class Format(StrEnum):
    """Which document format an overlay was read from."""

    V1ALPHA2 = "v1alpha2"
    ENVELOPE = "1.0.0"
    FLAT = "v1alpha1"


class Admission(StrEnum):
    """What work a candidate takes, from most to none."""

    NEW_AND_EXISTING = "new_and_existing"
    EXISTING_ONLY = "existing_only"
    NONE = "none"


class Tier(StrEnum):
    """How far a candidate's site is from the gateway's, nearest first."""

    SAME_SITE = "same_site"
    SAME_ZONE = "same_zone"
    SAME_REGION = "same_region"
    CROSS_REGION = "cross_region"
    UNKNOWN = "unknown"


ADMISSION_ORDER = {state: place for place, state in enumerate(Admission)}
TIER_ORDER = {tier: place for place, tier in enumerate(Tier)}


def is_identifier(text: str) -> bool:
    """Whether *text* may name something in an overlay: 1 to 256 UTF-8 bytes, none a control character."""
    if text.isascii() and text.isprintable():
        return 1 <= len(text) <= MAX_IDENTIFIER_BYTES
    try:
        return 1 <= len(text.encode()) <= MAX_IDENTIFIER_BYTES and _CONTROL.search(text) is None
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True, slots=True)
class Credential:
    """Where the component of the final hop finds a credential. A reference: never its bytes."""

    strategy: str
    namespace: str
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One provider of one capability, as a gateway may choose it.

    cluster: names a cluster of the gateway's own configuration; an overlay makes no endpoints.
    stable_id: identity that survives reordering; opaque in formats before v1alpha2.
    tier: None in a document without tiers, whose order then decides and affinity is off.
    rank: lower is preferred, unique for one (kind, name).
    score: informs people; nothing is decided by it.
    """

    kind: str
    name: str
    site: str
    cluster: str
    stable_id: str
    admission: Admission = Admission.NEW_AND_EXISTING
    tier: Tier | None = None
    rank: int = 0
    fresh: bool = True
    score: float | None = None
    credential: Credential | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return (self.kind, self.name, self.site, self.cluster)


@dataclass(frozen=True, slots=True)
class Overlay:
    """One gateway's candidates.

    gateway, namespace, grid_id: "" where the format does not carry them; network too in the flat one.
    revision: counts this overlay's contents; None in formats that do not count.
    digest: `sha256:…` of what routes, recomputed from the document.
    generated_at, valid_until: Unix seconds; None where the format has none. An expired overlay is still one:
    what to do with it is the gateway's policy.
    candidates: in the document's order.
    """

    format: Format
    network: str
    gateway: str
    site: str
    digest: str
    candidates: tuple[Candidate, ...]
    grid_id: str = ""
    namespace: str = ""
    revision: int | None = None
    generated_at: float | None = None
    valid_until: float | None = None

    @property
    def label(self) -> str:
        """The revision as people and headers name it: the count, or the digest where nothing is counted."""
        return self.digest if self.revision is None else str(self.revision)

    @property
    def max_age_s(self) -> float | None:
        """How long its writer lets it stand, in seconds; None if it does not say."""
        if self.generated_at is None or self.valid_until is None:
            return None
        return self.valid_until - self.generated_at


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose overlay a reader expects. "" expects nothing of that part."""

    network: str = ""
    gateway: str = ""
    site: str = ""
