"""A region is lost and comes back, and nothing else: short, to be repeated for the numbers of a failover."""

from __future__ import annotations

from e2e import actions, checks
from e2e.lab import EAST
from e2e.scenario import Run, Scenario, Step, eventually

SIMS = (f"{EAST}/grid-system/deployment/sim-a", f"{EAST}/grid-system/deployment/sim-b")
BOTH = ("gateway-provider-east-a", "gateway-provider-east-b")
_is_back = checks.open_to_new(EAST, names=BOTH)


def _undo(run: Run) -> None:
    actions.restore_all(run)
    eventually(checks.overlay("both are back", _is_back), 60)(run)


SCENARIO = Scenario(
    "loss",
    "A region is lost, the next takes over, it comes back: what that takes.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "The east is open, and the edge routes by that.",
            (eventually(checks.overlay("both are open", _is_back), 60), eventually(checks.accepted(), 15)),
        ),
        Step(
            "Both simulators of the east are killed: the edge routes around them.",
            act=actions.fault("kill", *SIMS),
            shows=(
                eventually(checks.overlay("nobody in the east takes new work", checks.closed(EAST)), 15),
                eventually(checks.accepted(), 15),
            ),
        ),
        Step(
            "They come back: the east takes work again.",
            act=actions.restore(*SIMS),
            shows=(
                eventually(checks.overlay("both are open again", _is_back), 60),
                eventually(checks.accepted(), 15),
            ),
        ),
    ),
    undo=_undo,
)
