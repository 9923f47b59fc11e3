"""A wait holds, goes on, or ends early with the reason, by the state of the objects alone."""

from __future__ import annotations

from typing import Any

import pytest

from forge.stack.conditions import (
    ConditionBroken,
    Standing,
    Verdict,
    current_pods,
    judge,
    parse_condition,
)

WAITING, HOLDS, LOST = Standing.WAITING, Standing.HOLDS, Standing.LOST


def deployment(*conditions: tuple[str, str, str], generation: int = 1, observed: int = 1) -> dict[str, Any]:
    listed = [{"type": t, "status": s, "reason": r, "message": f"about {t}"} for t, s, r in conditions]
    return {
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u1",
            "generation": generation,
            "annotations": {REVISION: "2"},
        },
        "status": {"observedGeneration": observed, "conditions": listed},
    }


def counted(kind: str, **status: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"name": "db"},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 1, **status},
    }


def pod(
    reason: str = "", restarts: int = 0, phase: str = "Pending", code: int | None = None, **meta: Any
) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": "said so"}} if reason else {"running": {}}
    last = {"terminated": {"exitCode": code}} if code is not None else {}
    container = {"name": "c", "state": state, "restartCount": restarts, "lastState": last}
    return {
        "kind": "Pod",
        "metadata": {"name": "web-1", **meta},
        "status": {"phase": phase, "containerStatuses": [container]},
    }


REVISION = "deployment.kubernetes.io/revision"
UP = deployment(("Available", "True", "MinimumReplicasAvailable"))
DOWN = deployment(
    ("Available", "False", "MinimumReplicasUnavailable"), ("Progressing", "True", "NewReplicaSet")
)
STUCK = deployment(("Available", "False", "No"), ("Progressing", "False", "ProgressDeadlineExceeded"))
JOB_FAILED = {
    "kind": "Job",
    "metadata": {"name": "j"},
    "status": {
        "conditions": [
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no more"}
        ]
    },
}
GATEWAY = {"kind": "Gateway", "metadata": {"name": "g"}, "status": {"phase": "Running", "n": 3, "ok": True}}

ROWS = [
    pytest.param("available", [UP], [], HOLDS, "", id="available"),
    pytest.param("Available", [UP], [], HOLDS, "", id="another spelling"),
    pytest.param("condition=Available", [UP], [], HOLDS, "", id="as kubectl says it"),
    pytest.param("available=false", [DOWN], [], HOLDS, "", id="another value"),
    pytest.param("available", [], [], WAITING, "it is not there yet", id="not there"),
    pytest.param(
        "available",
        [DOWN],
        [],
        WAITING,
        "Deployment shop/web: Available is False (MinimumReplicasUnavailable: about Available)",
        id="not yet",
    ),
    pytest.param(
        "available",
        [{**UP, "metadata": {**UP["metadata"], "generation": 2}}],
        [],
        WAITING,
        "Deployment shop/web: its last change is not taken up yet",
        id="of an older generation",
    ),
    pytest.param(
        "synced",
        [UP],
        [],
        WAITING,
        "Deployment shop/web: it has no condition synced yet",
        id="no such condition",
    ),
    pytest.param(
        "available",
        [UP, DOWN],
        [],
        WAITING,
        "Deployment shop/web: Available is False (MinimumReplicasUnavailable: about Available)",
        id="the worst decides",
    ),
    pytest.param(
        "available",
        [STUCK],
        [],
        LOST,
        "Deployment shop/web: ProgressDeadlineExceeded: about Progressing",
        id="deadline exceeded",
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("ImagePullBackOff")],
        LOST,
        "pod web-1: ImagePullBackOff: said so",
        id="no image",
    ),
    pytest.param(
        "available", [DOWN], [pod("ErrImagePull")], LOST, "pod web-1: ErrImagePull: said so", id="image error"
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("CreateContainerConfigError")],
        LOST,
        "pod web-1: CreateContainerConfigError: said so",
        id="no secret",
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("CrashLoopBackOff", 3, code=1)],
        LOST,
        "pod web-1: CrashLoopBackOff: restarted 3 times, last with exit code 1",
        id="crashes",
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("CrashLoopBackOff", 1, code=2)],
        WAITING,
        "Deployment shop/web: Available is False (MinimumReplicasUnavailable: about Available); pod web-1 crashed once, last with exit code 2",
        id="crashed once",
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("ContainerCreating")],
        WAITING,
        "Deployment shop/web: Available is False (MinimumReplicasUnavailable: about Available); pod web-1: ContainerCreating",
        id="still creating",
    ),
    pytest.param(
        "available",
        [DOWN],
        [pod("ImagePullBackOff", deletionTimestamp="t")],
        WAITING,
        "Deployment shop/web: Available is False (MinimumReplicasUnavailable: about Available)",
        id="a pod that goes counts no more",
    ),
    pytest.param("available", [UP], [pod("CrashLoopBackOff", 9)], HOLDS, "", id="available all the same"),
    pytest.param(
        "available", [counted("StatefulSet", readyReplicas=2)], [], HOLDS, "", id="set with all replicas"
    ),
    pytest.param(
        "ready",
        [counted("StatefulSet", readyReplicas=1)],
        [],
        WAITING,
        "StatefulSet db: 1 of 2 are ready",
        id="set with one replica",
    ),
    pytest.param(
        "ready",
        [counted("DaemonSet", desiredNumberScheduled=1, numberAvailable=1)],
        [],
        HOLDS,
        "",
        id="daemons",
    ),
    pytest.param(
        "complete", [JOB_FAILED], [], LOST, "Job j has failed: BackoffLimitExceeded no more", id="failed job"
    ),
    pytest.param("failed", [JOB_FAILED], [], HOLDS, "", id="a failure that is wanted"),
    pytest.param(
        "ready",
        [pod("ImagePullBackOff")],
        [],
        LOST,
        "pod web-1: ImagePullBackOff: said so",
        id="a pod itself",
    ),
    pytest.param("ready", [pod(phase="Failed")], [], LOST, "pod web-1 has failed", id="failed pod"),
    pytest.param("exists", [UP], [], HOLDS, "", id="exists"),
    pytest.param("exists", [], [], WAITING, "it is not there yet", id="does not exist"),
    pytest.param("deleted", [], [], HOLDS, "", id="deleted"),
    pytest.param("delete", [UP], [], WAITING, "Deployment shop/web is still there", id="not deleted"),
    pytest.param("jsonpath={.status.phase}=Running", [GATEWAY], [], HOLDS, "", id="value"),
    pytest.param("jsonpath='{.status.phase}'='Running'", [GATEWAY], [], HOLDS, "", id="value in quotes"),
    pytest.param("jsonpath={.status.phase}", [GATEWAY], [], HOLDS, "", id="any value"),
    pytest.param("jsonpath={.status.n}=3", [GATEWAY], [], HOLDS, "", id="number"),
    pytest.param("jsonpath=.status.ok=true", [GATEWAY], [], HOLDS, "", id="without braces"),
    pytest.param(
        'jsonpath={.x[?(@.a=="b")].c}=d',
        [{"kind": "X", "x": [{"a": "b", "c": "d"}]}],
        [],
        HOLDS,
        "",
        id="= inside the path",
    ),
    pytest.param(
        "jsonpath={.status.phase}=Done",
        [GATEWAY],
        [],
        WAITING,
        "Gateway g: it is 'Running', not 'Done'",
        id="another value",
    ),
    pytest.param(
        "jsonpath={.status.none}",
        [GATEWAY],
        [],
        WAITING,
        "Gateway g: it has no such value yet",
        id="no value",
    ),
    pytest.param(
        "ready",
        [{"kind": "X", "metadata": 3, "status": []}],
        [],
        WAITING,
        "X : it has no condition ready yet",
        id="an odd object",
    ),
]


@pytest.mark.parametrize(("text", "objects", "pods", "standing", "reason"), ROWS)
def test_a_wait_is_judged(
    text: str, objects: list[Any], pods: list[Any], standing: Standing, reason: str
) -> None:
    verdict = judge(parse_condition(text), objects, pods)
    assert (verdict.standing, verdict.reason) == (standing, reason)


def test_a_lost_pod_is_named() -> None:
    verdict = judge(parse_condition("available"), [DOWN], [pod("ErrImagePull")])
    assert verdict == Verdict(LOST, "pod web-1: ErrImagePull: said so", "web-1")


def test_a_pod_waits_for_a_node() -> None:
    status = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes fit"}]}
    waiting = {"kind": "Pod", "metadata": {"name": "web-1"}, "status": status}
    assert (
        "pod web-1 waits for a node: 0/1 nodes fit"
        in judge(parse_condition("available"), [DOWN], [waiting]).reason
    )


@pytest.mark.parametrize("text", ["", "a b", "jsonpath={.a", "=x", "a==b", "jsonpath={.a[}=1"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ConditionBroken):
        parse_condition(text)


def test_only_pods_of_the_present_template_are_looked_at() -> None:
    sets = [
        {
            "metadata": {
                "labels": {"pod-template-hash": h},
                "annotations": {REVISION: r},
                "ownerReferences": [{"uid": o}],
            }
        }
        for h, r, o in (("old", "1", "u1"), ("new", "2", "u1"), ("other", "2", "u2"))
    ]
    pods = [pod(labels={"pod-template-hash": h}) for h in ("old", "new", "other")]
    assert current_pods(DOWN, sets, pods) == (pods[1],)
    assert current_pods(DOWN, [], pods) == ()
    assert current_pods({"kind": "DaemonSet"}, [], pods) == tuple(pods)
    stateful = {"kind": "StatefulSet", "status": {"updateRevision": "r2"}}
    revised = [pod(labels={"controller-revision-hash": r}) for r in ("r1", "r2")]
    assert current_pods(stateful, [], revised) == (revised[1],)
