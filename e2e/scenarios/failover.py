"""The loss of a region moves new requests to another one, without a restart of the edge: seventeen steps.

The titles are the plan's own. Both simulators of the east are stopped in step 5, so that the region is
lost; step 17 kills one of them, so that its sessions move to its equal.
"""

from __future__ import annotations

from e2e import actions, checks
from e2e.lab import CONTROL, EAST, WEST, Lab
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Show, Step, eventually
from e2e.wire import Answer
from grid.contract.reasons import RejectReason

SIM_A = f"{EAST}/grid-system/deployment/sim-a"
SIM_B = f"{EAST}/grid-system/deployment/sim-b"
EDGE = "grid-edge-us-east"
SYNC = "grid-overlay-sync-us-east"
WORKLOADS = ((EAST, "provider-gateway"), (WEST, "provider-gateway"), (CONTROL, "grid-operator"))
EAST_A, EAST_B = "gateway-provider-east-a", "gateway-provider-east-b"
CORPUS = tuple(f"corpus-{n:03d}" for n in range(64))
NOTICED_S = 15.0
"""How long the loss of a provider may take to reach the edge before the scenario gives up. The report says
how long it took."""
LOGGED_S = 10.0
"""How long a log line may take to be seen: logs are written in batches."""


def lab_is_up(run: Run) -> Evidence:
    """Forge says that all is as the file wants it."""
    said = run.lab.describe()
    wrong = [f"{r['kind']}/{r['name']}" for r in said["resources"] if not r["ok"]]
    if wrong or not said["up"]:
        raise NotYet(f"not as forge.yaml says: {', '.join(wrong[:5]) or 'nothing is up'}")
    return Evidence("the environment is up", f"{len(said['resources'])} resources on {said['runtime']}")


def _clusters(name: str) -> Show:
    """Where the requests that a step remembered under *name* went, by the edge's log: session -> cluster."""

    def show(run: Run) -> Evidence:
        answers: dict[str, Answer] = run.recall(name)
        failed = [a.status for a in answers.values() if a.status != 200]
        if failed:
            raise Broken(f"{len(failed)} of {len(answers)} requests failed, the first with {failed[0]}")
        log = {line["request_id"]: line for line in run.lab.log(EDGE) if "request_id" in line}
        missing = [a for a in answers.values() if a.request_id not in log]
        if missing:
            raise NotYet(f"{len(missing)} of {len(answers)} requests are not in the edge's log yet")
        found = {s: str(log[a.request_id].get("cluster")) for s, a in answers.items()}
        run.memory[f"{name} clusters"] = found
        return Evidence("every request is in the edge's log", f"{len(found)} requests", {"clusters": found})

    return show


def _asked_and_handled(name: str, site: str) -> Show:
    """A new request is answered, and the edge's log says by whom."""

    def show(run: Run) -> Evidence:
        actions.ask(name)(run)
        checks.answered(name)(run)
        return eventually(checks.handled_by(name, site), 3.0)(run)

    return show


def _repeat(run: Run) -> None:
    client = run.lab.client()
    run.memory["repeated"] = {str(n): client.chat(session="the-same-session") for n in range(24)}
    client.connection.close()


def _all_the_same(run: Run) -> Evidence:
    used = set(run.recall("repeated clusters").values())
    if len(used) != 1:
        raise NotYet(f"went to {', '.join(sorted(used))}")
    return Evidence("one session, tenant and model select one provider", used.pop())


def _every_equal_and_no_other(run: Run) -> Evidence:
    used = set(run.recall("corpus clusters").values())
    if used != {EAST_A, EAST_B}:
        raise NotYet(f"went to {', '.join(sorted(used))}, wanted {EAST_A} and {EAST_B}")
    return Evidence("every equivalent provider is selected, and no request crosses tiers", "2 of 2 equals")


def _kill_the_selected(run: Run) -> None:
    """A session of the corpus that is bound to sim-a, and its end."""
    clusters: dict[str, str] = run.recall("corpus clusters")
    mine = [s for s, cluster in clusters.items() if cluster == EAST_A]
    if not mine:
        raise Broken(f"no session of the corpus is at {EAST_A}")
    run.memory["bound"] = mine
    actions.fault("kill", SIM_A)(run)


def _ask_the_bound(run: Run) -> None:
    actions.ask_many("remapped", run.recall("bound"))(run)


def _remapped(run: Run) -> Evidence:
    used = set(run.recall("remapped clusters").values())
    if used != {EAST_B}:
        raise NotYet(f"the sessions went to {', '.join(sorted(used))}, wanted {EAST_B}")
    return Evidence(
        "exactly the failed provider's sessions moved, to its equal", f"{len(run.recall('bound'))} sessions"
    )


def _spoil(run: Run) -> None:
    actions.replace_overlay_file(actions.tampered(run.lab))(run)


def _undo(run: Run) -> None:
    actions.restore_all(run)
    eventually(checks.overlay("both are back", checks.open_to_new(EAST, names=(EAST_A, EAST_B))), 60)(run)


def _needs(lab: Lab) -> str | None:
    return None if (lab.state / "state.json").is_file() else "the lab is not up"


_east_is_back = checks.open_to_new(EAST, names=(EAST_A, EAST_B))

SCENARIO = Scenario(
    "failover",
    "The loss of a region moves new requests to another one, without a restart of the edge.",
    (
        Step(
            "1. Start the Forge environment.", (eventually(lab_is_up, 60), eventually(checks.at_rest(), 90))
        ),
        Step(
            "2. Record edge container ID, start timestamp, PID, and restart count.",
            act=actions.both(actions.remember_state(), actions.remember_workloads(WORKLOADS)),
            shows=(checks.recorded((EDGE, SYNC)),),
        ),
        Step(
            "3. Send shared-model request through api.grid.test.",
            act=actions.ask("first"),
            shows=(checks.answered("first"),),
        ),
        Step("4. Prove provider-east handled it.", (eventually(checks.handled_by("first", EAST), LOGGED_S),)),
        Step(
            "5. Mark provider-east unavailable or stop it.",
            act=actions.fault("stop", SIM_A, SIM_B),
            shows=(eventually(checks.stopped(SIM_A, SIM_B), NOTICED_S),),
        ),
        Step(
            "6. Wait for Grid overlay revision to change.",
            (
                eventually(
                    checks.overlay("no candidate of the east is open to new work", checks.closed(EAST)),
                    NOTICED_S,
                ),
                checks.revision_changed(),
            ),
        ),
        Step(
            "7. Wait for sync and Praxis reload success.",
            (eventually(checks.synced(), NOTICED_S), eventually(checks.accepted(), NOTICED_S)),
        ),
        Step("8. Send a new request.", act=actions.ask("second"), shows=(checks.answered("second"),)),
        Step(
            "9. Prove provider-west handled it.", (eventually(checks.handled_by("second", WEST), LOGGED_S),)
        ),
        Step(
            "10. Assert the edge container identity/PID/start time did not change.",
            (checks.nothing_restarted((EDGE, SYNC)),),
        ),
        Step(
            "11. Assert no rollout or restart command ran.",
            tuple(checks.no_rollout(cluster, "deployment", name) for cluster, name in WORKLOADS),
        ),
        Step(
            "12. Write an invalid overlay update.",
            act=actions.both(actions.remember_state(), _spoil),
            shows=(
                eventually(
                    checks.edge_rejected(reason=RejectReason.DIGEST_MISMATCH, again=_spoil), NOTICED_S
                ),
            ),
        ),
        Step(
            "13. Prove last-known-good provider-west remains active.",
            act=actions.ask("third"),
            shows=(
                checks.still_serves("revision_before"),
                checks.answered("third"),
                eventually(checks.handled_by("third", WEST), LOGGED_S),
            ),
        ),
        Step(
            "14. Restore provider-east and prove deterministic recovery.",
            act=actions.restore(SIM_A, SIM_B),
            shows=(
                eventually(checks.overlay("the east is open to new work", _east_is_back), 60),
                eventually(checks.overlay("the east comes first again", checks.first_is(EAST)), NOTICED_S),
                eventually(checks.accepted(), NOTICED_S),
                eventually(_asked_and_handled("fourth", EAST), NOTICED_S),
            ),
        ),
        Step(
            "15. Send repeated requests with the same authenticated demo tenant, session header, and model; "
            "prove they select the same healthy provider.",
            act=_repeat,
            shows=(eventually(_clusters("repeated"), LOGGED_S), _all_the_same),
        ),
        Step(
            "16. Send a fixed corpus of session IDs; prove every equivalent provider is selected while no "
            "request crosses Grid selection tiers.",
            act=actions.ask_many("corpus", CORPUS),
            shows=(eventually(_clusters("corpus"), LOGGED_S), _every_equal_and_no_other),
        ),
        Step(
            "17. Fail the selected provider; prove the existing session remaps without an edge restart.",
            act=actions.both(_kill_the_selected, _ask_the_bound),
            shows=(
                eventually(_clusters("remapped"), LOGGED_S),
                _remapped,
                checks.nothing_restarted((EDGE, SYNC)),
            ),
        ),
    ),
    undo=_undo,
    needs=_needs,
)
