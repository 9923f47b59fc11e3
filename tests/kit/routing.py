"""Candidates, overlays and snapshots for routing, as values, by small functions with defaults."""

from __future__ import annotations

from collections.abc import Iterable

from edge.routing.affinity import Secret
from edge.routing.bindings import Bindings, Limits
from edge.routing.place import Placement, Rules, Session, place
from edge.routing.select import Asked
from edge.routing.snapshot import Snapshot, index
from grid.contract.digest import stable_id
from grid.contract.overlay import Admission, Candidate, Format, Overlay, Tier

MODEL = "shared-model"
KIND = "inference_model"
SECRET = Secret(bytes(range(32)))
SITES = ("east-a", "east-b", "east-c", "west-a", "west-b", "north-a")


class Everywhere:
    """Clusters of a gateway that has them all."""

    def __contains__(self, _: object) -> bool:
        return True


def candidate(
    site: str = "east-a",
    rank: int = 0,
    *,
    name: str = MODEL,
    kind: str = KIND,
    tier: Tier | None = Tier.SAME_REGION,
    admission: Admission = Admission.NEW_AND_EXISTING,
    fresh: bool = True,
) -> Candidate:
    cluster = f"gateway-{site}"
    return Candidate(
        kind, name, site, cluster, stable_id(kind, name, site, cluster), admission, tier, rank, fresh
    )


def overlay(
    candidates: Iterable[Candidate], *, valid_until: float | None = None, revision: int = 1
) -> Overlay:
    found = tuple(candidates)
    return Overlay(
        Format.V1ALPHA2,
        "production",
        "edge",
        "edge-us-east",
        "sha256:0",
        found,
        revision=revision,
        generated_at=0.0,
        valid_until=valid_until,
    )


def snapshot(*candidates: Candidate, accepted_at: float = 0.0, valid_until: float | None = None) -> Snapshot:
    return index(overlay(candidates, valid_until=valid_until), Everywhere(), accepted_at)


class Edge:
    """One gateway's routing over time: its bindings stay while snapshots come and go."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules(secrets=(SECRET,), limits=Limits())
        self.bindings = Bindings()

    def ask(
        self,
        snapshot: Snapshot,
        session: bytes | None = b"conversation-7",
        *,
        tenant: str | None = "tenant-42",
        name: str = MODEL,
        tried: tuple[str, ...] = (),
        now: float = 0.0,
    ) -> Placement:
        who = None if session is None or tenant is None else Session(tenant, session)
        return place(snapshot, Asked(KIND, name, tried=tried), who, self.rules, self.bindings, now)

    def site(
        self, snapshot: Snapshot, session: bytes | None = b"conversation-7", *, now: float = 0.0
    ) -> str | None:
        """The site a request goes to, None when it is refused."""
        chosen = self.ask(snapshot, session, now=now).decision.candidate
        return None if chosen is None else chosen.site
