"""The operator that leads is killed: another takes over, and the overlay stays what it was."""

from __future__ import annotations

from e2e import actions, checks
from e2e.kube import CORE
from e2e.lab import CONTROL, EAST
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Step, eventually

LEADER = "app.kubernetes.io/name=grid-operator,grid.praxis-proxy.io/mesh=leader"


def _kill(run: Run) -> None:
    kube = run.lab.kube(CONTROL)
    leaders = kube.pods(LEADER)
    if len(leaders) != 1:
        raise Broken(f"{len(leaders)} pods lead")
    run.memory["holder"] = checks.rendered_by(run)
    run.memory["digest"] = run.lab.rendered().digest
    name = leaders[0]["metadata"]["name"]
    run.mark("fault", f"kill {name}")
    kube.delete(f"{CORE}/pods/{name}", grace_s=0)


def _another_leads(run: Run) -> Evidence:
    now = checks.rendered_by(run)
    if not now or now == run.recall("holder"):
        raise NotYet(f"the lease is still {now or 'nobody'}'s")
    leaders = run.lab.kube(CONTROL).pods(LEADER)
    if len(leaders) != 1:
        raise NotYet(f"{len(leaders)} pods carry the leader's label")
    return Evidence("another operator leads", now)


def _same_overlay(run: Run) -> Evidence:
    found = run.lab.rendered()
    if found.digest != run.recall("digest") or found.revision != run.recall("revision_before"):
        raise NotYet(f"revision {run.recall('revision_before')} became {found.revision}")
    return Evidence("the overlay is the same, not one revision later", f"revision {found.revision}")


SCENARIO = Scenario(
    "operator_restart",
    "An operator that is killed is replaced, and the overlay does not change for it.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "The leading operator of edge-control is killed.",
            act=actions.both(actions.remember_state(), _kill),
            shows=(eventually(_another_leads, 30),),
        ),
        Step(
            "The overlay stays what it was, and the edge goes on.",
            (
                _same_overlay,
                lambda run: (actions.ask("after")(run), checks.answered("after")(run))[1],
                eventually(checks.handled_by("after", EAST), 10),
                checks.ready("us-east", wanted=True),
                _same_overlay,
            ),
        ),
    ),
)
