"""What stands in clusters: mended in place, gone with its cluster, looked at again when its makers are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge.plan.diff import diff, removal
from forge.plan.order import order, removal_order
from forge.plan.text import plan_text
from forge.plan.values import Change, Desired, Key, Need, Observed, Phase, Plan, Recorded, Verb
from tests.kit.plans import ME, live, record

EAST = Key("cluster", "east")
FIRST, SECOND = Key("step", "east/base/01-manifest"), Key("step", "east/base/02-capture")
CLUSTER = Desired(EAST, "forge-east", "c", None)
STEP = Desired(
    FIRST, "", "f1", None, needs=(Need(EAST),), replaces_with=(EAST,), in_place=True, follows=(EAST,)
)
CAPTURE = Desired(
    SECOND,
    "",
    "f2",
    None,
    needs=(Need(EAST), Need(FIRST)),
    replaces_with=(EAST,),
    in_place=True,
    follows=(EAST, FIRST),
)
ALL = (CLUSTER, STEP, CAPTURE)


def seen(*things: Desired, **changed: Observed) -> dict[Key, Observed]:
    shown = {d.key: live(d, Phase.RUNNING if d.key.kind == "cluster" else Phase.PRESENT) for d in things}
    return shown | {o.key: o for o in changed.values()}


def planned(observed: dict[Key, Observed], desired: tuple[Desired, ...] = ALL) -> str:
    recorded: dict[Key, Recorded] = {d.key: record(d) for d in desired}
    changes = diff(ME, desired, observed, recorded)
    wanted = {d.key: d for d in desired}
    return plan_text(Plan("lab", "docker", order(changes, wanted), (), wanted))


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(seen(*ALL), "", id="all as asked"),
        pytest.param(
            seen(*ALL, step=live(STEP, Phase.PRESENT, fingerprint="old")),
            "update step/east/base/01-manifest, configuration differs\n"
            "update step/east/base/02-capture, step/east/base/01-manifest comes before it <- step/east/base/01-manifest\n",
            id="a changed step is mended, and what looks at it looks again",
        ),
        pytest.param(
            seen(*ALL, step=live(STEP, Phase.BROKEN, fingerprint=None, detail="somebody else changed it")),
            "update step/east/base/01-manifest, somebody else changed it\n"
            "update step/east/base/02-capture, step/east/base/01-manifest comes before it <- step/east/base/01-manifest\n",
            id="a hand was there",
        ),
        pytest.param(
            seen(*ALL, cluster=live(CLUSTER, Phase.STOPPED)),
            "start cluster/east, it is stopped\n"
            "update step/east/base/01-manifest, cluster/east comes before it <- cluster/east\n"
            "update step/east/base/02-capture, cluster/east comes before it <- cluster/east, step/east/base/01-manifest\n",
            id="a stopped cluster is started, and all in it looked at",
        ),
        pytest.param(
            seen(*ALL, cluster=live(CLUSTER, Phase.BROKEN)),
            "replace cluster/east, it was only half made\n"
            "create step/east/base/01-manifest, cluster/east is replaced <- cluster/east\n"
            "create step/east/base/02-capture, cluster/east is replaced <- cluster/east, step/east/base/01-manifest\n",
            id="a replaced cluster takes all along",
        ),
    ],
)
def test_what_differs_is_mended(observed: dict[Key, Observed], expected: str) -> None:
    assert planned(observed) == expected


def test_what_is_known_only_later_is_looked_at_in_its_turn() -> None:
    late = replace(CAPTURE, fingerprint="")
    text = planned(seen(CLUSTER, STEP, CAPTURE), (CLUSTER, STEP, late))
    assert text == "update step/east/base/02-capture, made of what is known only later\n"


def test_nothing_is_taken_out_of_a_cluster_that_goes() -> None:
    changes = removal(ME, seen(*ALL))
    assert changes == (Change(Verb.REMOVE, EAST, "down"),)


def test_what_forge_put_into_a_cluster_that_stays_is_taken_out_latest_first() -> None:
    kept = {**seen(*ALL), EAST: replace(live(CLUSTER, Phase.RUNNING), kept=True)}
    steps = removal_order(removal(ME, kept), {FIRST: 1.0, SECOND: 2.0})
    assert plan_text(Plan("lab", "docker", steps, (), {})) == (
        "remove step/east/base/02-capture, down\n"
        "remove step/east/base/01-manifest, down <- step/east/base/02-capture\n"
        "remove cluster/east, down <- step/east/base/01-manifest, step/east/base/02-capture\n"
    )


def test_a_step_that_left_the_file_is_taken_out() -> None:
    observed = seen(*ALL)
    assert planned(observed, (CLUSTER, STEP)) == (
        "remove step/east/base/02-capture, no longer in forge.yaml\n"
    )
