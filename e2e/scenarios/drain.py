"""A provider that is taken out by hand keeps its sessions first, then gives everything up."""

from __future__ import annotations

from e2e import actions, checks
from e2e.kube import GRID
from e2e.lab import EAST, WEST
from e2e.scenario import Act, Run, Scenario, Step, eventually
from grid.contract.overlay import Admission, Overlay

SIMS = ("sim-a", "sim-b")


def _drain(how: str) -> Act:
    def act(run: Run) -> None:
        for name in SIMS:
            run.lab.kube(EAST).merge(
                f"{GRID}/inferenceproviders/{name}", {"spec": {"trafficPolicy": {"drain": how}}}
            )
        run.mark("fault", f"drain {how} of the east")

    return act


def _all_are(state: Admission) -> checks.Holds:
    def holds(found: Overlay) -> str | None:
        others = [c for c in found.candidates if c.site == EAST and c.admission is not state]
        return f"{others[0].cluster} is {others[0].admission}" if others else None

    return holds


def _undo(run: Run) -> None:
    for name in SIMS:
        run.lab.kube(EAST).merge(f"{GRID}/inferenceproviders/{name}", {"spec": {"trafficPolicy": None}})
    eventually(checks.overlay("the east is open again", checks.open_to_new(EAST)), 60)(run)


SCENARIO = Scenario(
    "drain",
    "A provider that is drained by hand keeps its sessions first, and then gives everything up.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "A session is bound to the east.",
            act=actions.ask("bound", session="drained-session"),
            shows=(checks.answered("bound"), eventually(checks.handled_by("bound", EAST), 10)),
        ),
        Step(
            "drain existingOnly: the east takes no new work, its session stays.",
            act=_drain("existingOnly"),
            shows=(
                eventually(
                    checks.overlay("the east keeps what it has", _all_are(Admission.EXISTING_ONLY)), 15
                ),
                eventually(checks.accepted(), 10),
                lambda run: (
                    actions.ask("still", session="drained-session")(run),
                    checks.answered("still")(run),
                )[1],
                eventually(checks.handled_by("still", EAST), 10),
                lambda run: (actions.ask("new", session="new-session")(run), checks.answered("new")(run))[1],
                eventually(checks.handled_by("new", WEST), 10),
            ),
        ),
        Step(
            "drain all: the session moves too.",
            act=_drain("all"),
            shows=(
                eventually(checks.overlay("nobody is sent to the east", checks.gone_or_none(EAST)), 15),
                eventually(checks.accepted(), 10),
                lambda run: (
                    actions.ask("moved", session="drained-session")(run),
                    checks.answered("moved")(run),
                )[1],
                eventually(checks.handled_by("moved", WEST), 10),
            ),
        ),
    ),
    undo=_undo,
)
