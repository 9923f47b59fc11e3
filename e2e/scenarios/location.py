"""Two edges see the same providers from two places; what a client says of its place changes nothing."""

from __future__ import annotations

from e2e import actions, checks
from e2e.lab import EAST, EU, US, WEST
from e2e.scenario import Evidence, NotYet, Run, Scenario, Show, Step, eventually

SPOOFED = {
    "X-Region": "eu-west",
    "X-Country": "DE",
    "X-Tenant-ID": "somebody-else",
    "X-Model": "another-model",
    "x-ai-routing-candidate": "sha256:" + "1" * 64,
    "x-ai-routing-request-id": "forged",
    "x-ai-routing-revision": "999999",
}


def _same_candidates(run: Run) -> Evidence:
    """Both overlays hold the same providers."""
    us, eu = run.lab.rendered(US), run.lab.rendered(EU)
    if {c.stable_id for c in us.candidates} != {c.stable_id for c in eu.candidates}:
        raise NotYet("the two overlays do not hold the same candidates")
    return Evidence("both edges know the same candidates", f"{len(us.candidates)} candidates")


def _order(edge: str, site: str) -> Show:
    return checks.overlay(f"edge-{edge} puts {site} first", checks.first_is(site), edge)


SCENARIO = Scenario(
    "location",
    "The same state gives two edges two orders, and no header of a client changes either.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "Both edges have an overlay with the same candidates, each in its own order.",
            (
                eventually(_same_candidates, 30),
                eventually(_order(US, EAST), 30),
                eventually(_order(EU, WEST), 30),
            ),
        ),
        Step(
            "A request at the edge in us-east is handled in us-east.",
            act=actions.ask("us", edge=US),
            shows=(checks.answered("us"), eventually(checks.handled_by("us", EAST), 10)),
        ),
        Step(
            "The same request at the edge in eu-west is handled in eu-west.",
            act=actions.ask("eu", edge=EU),
            shows=(checks.answered("eu"), eventually(checks.handled_by("eu", WEST), 10)),
        ),
        Step(
            "Forged location, tenant, model and routing headers change nothing.",
            act=actions.ask("spoofed", edge=US, headers=SPOOFED),
            shows=(checks.answered("spoofed"), eventually(checks.handled_by("spoofed", EAST), 10)),
        ),
    ),
)
