"""A session stays with its provider while it may, moves when it must, and is never pulled back."""

from __future__ import annotations

from collections.abc import Mapping

from e2e import actions, checks
from e2e.lab import EAST
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Show, Step, eventually
from e2e.wire import Answer

EDGE = "grid-edge-us-east"
SIM_B = f"{EAST}/grid-system/deployment/sim-b"
EAST_A, EAST_B = "gateway-provider-east-a", "gateway-provider-east-b"
SESSIONS = tuple(f"affinity-{n:03d}" for n in range(48))


def where(name: str) -> Show:
    """session -> cluster of the requests remembered under *name*, from the edge's log."""

    def show(run: Run) -> Evidence:
        answers: Mapping[str, Answer] = run.recall(name)
        failed = [a for a in answers.values() if a.status != 200]
        if failed:
            raise Broken(
                f"{len(failed)} requests failed, the first with {failed[0].status} {failed[0].error}"
            )
        log = {line["request_id"]: line for line in run.lab.log(EDGE) if "request_id" in line}
        if any(a.request_id not in log for a in answers.values()):
            raise NotYet("not every request is in the edge's log yet")
        run.memory[f"{name} at"] = {s: str(log[a.request_id].get("cluster")) for s, a in answers.items()}
        return Evidence("every request is in the edge's log", f"{len(answers)} requests")

    return show


def _unchanged(before: str, after: str) -> Show:
    def show(run: Run) -> Evidence:
        old, new = run.recall(f"{before} at"), run.recall(f"{after} at")
        moved = sorted(s for s in old if old[s] != new[s])
        if moved:
            raise NotYet(
                f"{len(moved)} sessions moved, the first {moved[0]}: {old[moved[0]]} -> {new[moved[0]]}"
            )
        return Evidence("every session is where it was", f"{len(old)} sessions")

    return show


def _only_the_failed(run: Run) -> Evidence:
    old, new = run.recall("first at"), run.recall("without b at")
    stayed = [s for s in old if old[s] == EAST_A and new[s] == EAST_A]
    moved = [s for s in old if old[s] == EAST_B and new[s] == EAST_A]
    if len(stayed) + len(moved) != len(old):
        raise NotYet(f"{len(stayed)} stayed, {len(moved)} moved, of {len(old)}")
    return Evidence(
        "exactly the failed provider's sessions moved", f"{len(moved)} moved, {len(stayed)} stayed"
    )


def _both_used(run: Run) -> Evidence:
    used = set(run.recall("first at").values())
    if used != {EAST_A, EAST_B}:
        raise NotYet(f"used: {', '.join(sorted(used))}")
    return Evidence("both equals are used", ", ".join(sorted(used)))


def _bad_session(value: str) -> Show:
    def show(run: Run) -> Evidence:
        client = run.lab.client()
        answer = client.chat(session=value)
        client.connection.close()
        if answer.status != 400:
            raise NotYet(f"status {answer.status}, wanted 400")
        return Evidence("a session id that is none is refused", f"400 for {len(value)} characters")

    return show


def _undo(run: Run) -> None:
    actions.restore_all(run)
    is_back = checks.open_to_new(EAST, names=(EAST_A, EAST_B))
    eventually(checks.overlay("both are back", is_back), 60)(run)


SCENARIO = Scenario(
    "affinity",
    "A session stays with its provider while it may, moves when it must, and is never pulled back.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "Sessions spread over the equals of the best tier.",
            act=actions.ask_many("first", SESSIONS),
            shows=(eventually(where("first"), 10), _both_used),
        ),
        Step(
            "The same sessions come back to the same providers.",
            act=actions.ask_many("second", SESSIONS),
            shows=(eventually(where("second"), 10), _unchanged("first", "second")),
        ),
        Step(
            "One of the equals fails: its sessions move to the other, and no other session does.",
            act=actions.both(actions.fault("kill", SIM_B), actions.ask_many("without b", SESSIONS)),
            shows=(eventually(where("without b"), 10), _only_the_failed),
        ),
        Step(
            "It recovers: nobody is pulled back.",
            act=actions.restore(SIM_B),
            shows=(
                eventually(
                    checks.overlay("both are open again", checks.open_to_new(EAST, names=(EAST_A, EAST_B))),
                    60,
                ),
                eventually(checks.accepted(), 10),
                lambda run: (
                    actions.ask_many("again", SESSIONS)(run),
                    eventually(where("again"), 10)(run),
                )[1],
                _unchanged("without b", "again"),
            ),
        ),
        Step(
            "A session id that is too long is refused.",
            (_bad_session("x" * 129),),
        ),
    ),
    undo=_undo,
)
