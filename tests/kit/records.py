"""Builders of what a run of the proof leaves: records of scenarios, with defaults."""

from __future__ import annotations

from e2e.lab import EAST, WEST
from e2e.play import Record
from e2e.scenario import Done, Evidence, Mark, Played, Scenario, Step
from e2e.traffic import Sent
from e2e.watch import ACCEPTED, RENDERED, SYNCED, Noted
from grid.contract.overlay import Admission, Candidate, Format, Overlay

BEGUN = 1_000.0


def overlay(revision: int, *, east: Admission = Admission.NEW_AND_EXISTING) -> Overlay:
    """Two candidates, one in the east and one in the west."""
    candidates = (
        Candidate("inference_model", "m", EAST, f"gateway-{EAST}", "sha256:a", east, rank=0),
        Candidate("inference_model", "m", WEST, f"gateway-{WEST}", "sha256:b", rank=1),
    )
    return Overlay(Format.V1ALPHA2, "production", "edge", "edge", "sha256:d", candidates, revision=revision)


def noted(at: float, place: str, revision: int, *, east: Admission = Admission.NEW_AND_EXISTING) -> Noted:
    return Noted(at, place, revision, overlay(revision, east=east))


def loss(at: float = BEGUN + 1.0) -> tuple[Noted, ...]:
    """Revision 1 before, revision 2 without the east: rendered 0.9 s, synced 1.0 s, accepted 1.1 s after."""
    closed = Admission.NONE
    return (
        noted(BEGUN - 60, RENDERED, 1),
        noted(BEGUN - 60, SYNCED, 1),
        noted(BEGUN - 60, ACCEPTED, 1),
        noted(at + 0.9, RENDERED, 2, east=closed),
        noted(at + 1.0, SYNCED, 2, east=closed),
        noted(at + 1.1, ACCEPTED, 2, east=closed),
    )


def sent(at: float, *, status: int = 200, took_s: float = 0.01, cluster: str = "") -> Sent:
    return Sent(at, took_s, status, f"id-{at}", cluster=cluster)


def record(
    *,
    marks: tuple[Mark, ...] = (),
    requests: tuple[Sent, ...] = (),
    revisions: tuple[Noted, ...] = (),
    fault: str = "",
    name: str = "failover",
    skipped: str = "",
) -> Record:
    """A scenario of three steps, of which the second may have failed."""
    titles = ("one thing", "another <thing>", "the last thing")
    scenario = Scenario(name, "It is proved.", tuple(Step(title) for title in titles))
    evidence = (Evidence("it was so", "seen & believed", {"n": 1}, 0.25),)
    done = [Done(titles[0], BEGUN, BEGUN + 1, evidence)]
    done.append(Done(titles[1], BEGUN + 1, BEGUN + 2, (), fault))
    if not fault:
        done.append(Done(titles[2], BEGUN + 2, BEGUN + 3, ()))
    played = Played(scenario, () if skipped else tuple(done), marks, skipped)
    return Record(played, requests, revisions, BEGUN, BEGUN + 5)
