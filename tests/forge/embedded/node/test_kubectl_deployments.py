"""Deployments as the real kubectl sees them: roll-outs, their history, and pods that come and go."""

from __future__ import annotations

import re

from tests.kit.embedded_node import EmbeddedNode, deployment, eventually, server, shell


def _revisions(node: EmbeddedNode, name: str) -> list[str]:
    return re.findall(r"^\d+", node.kubectl(f"rollout history deploy/{name}"), re.MULTILINE)


def test_two_replicas_become_available(node: EmbeddedNode) -> None:
    node.apply(deployment("web", 2, server()))
    node.kubectl("wait --for=condition=Available deploy/web --timeout=30s")
    assert re.search(r"web +2/2 +2 +2", node.kubectl("get deploy web"))
    assert "successfully rolled out" in node.kubectl("rollout status deploy/web --timeout=30s")


def test_a_roll_out_replaces_every_pod_and_keeps_enough(node: EmbeddedNode) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    node.apply(deployment("rolls", 3, server(), strategy=strategy))
    node.kubectl("rollout status deploy/rolls --timeout=60s")
    before = set(node.kubectl("get pods -l app=rolls -o name").split())
    node.kubectl("rollout restart deploy/rolls")
    least = 3
    while node.get("deploy", "rolls")["status"].get("updatedReplicas", 0) < 3 or least < 0:
        least = min(least, node.get("deploy", "rolls")["status"].get("availableReplicas", 0))
    node.kubectl("rollout status deploy/rolls --timeout=60s")
    assert least == 3
    after = eventually(
        lambda: set(node.kubectl("get pods -l app=rolls -o name").split()), lambda names: len(names) == 3
    )
    assert not before & after


def test_history_is_kept_and_gone_back_to(node: EmbeddedNode) -> None:
    node.apply(deployment("past", 1, server()))
    node.kubectl("rollout status deploy/past --timeout=30s")
    node.kubectl("set image deploy/past main=server:2")
    node.kubectl("rollout status deploy/past --timeout=30s")
    assert _revisions(node, "past") == ["1", "2"]
    node.kubectl("rollout undo deploy/past")
    node.kubectl("rollout status deploy/past --timeout=30s")
    assert _revisions(node, "past") == ["2", "3"]
    assert node.kubectl("get deploy past -o jsonpath={.spec.template.spec.containers[0].image}") == "server:1"


def test_scaling_makes_and_ends_pods(node: EmbeddedNode) -> None:
    node.apply(deployment("sized", 1, shell("exec sleep 600")))
    node.kubectl("scale deploy/sized --replicas=3")
    node.until("get deploy sized", r"3/3 +3 +3")
    node.kubectl("scale deploy/sized --replicas=0")
    node.until("get deploy sized", r"0/0 +0 +0")
    eventually(lambda: node.kubectl("get pods -l app=sized -o name"), "".__eq__)


def test_a_roll_out_that_cannot_go_on_leaves_what_works(node: EmbeddedNode) -> None:
    node.apply(deployment("stuck", 2, server()))
    node.kubectl("rollout status deploy/stuck --timeout=30s")
    node.apply(deployment("stuck", 2, server(image="registry.test/none:1"), progressDeadlineSeconds=1))
    said = node.kubectl("rollout status deploy/stuck --timeout=30s", fails=True)
    assert "exceeded its progress deadline" in said
    assert node.get("deploy", "stuck")["status"]["availableReplicas"] == 2
    node.kubectl("rollout undo deploy/stuck")
    node.kubectl("rollout status deploy/stuck --timeout=30s")


def test_recreate_ends_the_old_before_the_new(node: EmbeddedNode) -> None:
    node.apply(deployment("again", 2, server(), strategy={"type": "Recreate"}))
    node.kubectl("rollout status deploy/again --timeout=30s")
    node.kubectl("set env deploy/again COLOR=red")
    node.kubectl("rollout status deploy/again --timeout=30s")
    node.until("get deploy again", r"2/2 +2 +2")


def test_a_paused_deployment_waits(node: EmbeddedNode) -> None:
    node.apply(deployment("paused", 1, server()))
    node.kubectl("rollout status deploy/paused --timeout=30s")
    node.kubectl("rollout pause deploy/paused")
    node.kubectl("set image deploy/paused main=server:2")
    node.until("get deploy paused -o jsonpath={.status.conditions}", "DeploymentPaused")
    assert (
        node.kubectl("get pods -l app=paused -o jsonpath={.items[*].spec.containers[0].image}") == "server:1"
    )
    node.kubectl("rollout resume deploy/paused")
    node.kubectl("rollout status deploy/paused --timeout=30s")
    node.until("get pods -l app=paused -o jsonpath={.items[*].spec.containers[0].image}", "^server:2$")


def test_deleted_pods_are_replaced_and_owners_take_theirs_along(node: EmbeddedNode) -> None:
    node.apply(deployment("owns", 2, shell("exec sleep 600")))
    node.kubectl("rollout status deploy/owns --timeout=30s")
    first = node.kubectl("get pods -l app=owns -o name").split()[0]
    node.kubectl(f"delete {first}")
    node.until("get deploy owns", r"2/2 +2 +2")
    node.kubectl("delete deploy owns --cascade=foreground")
    assert node.kubectl("get rs,pods -l app=owns -o name") == ""


def test_pods_left_behind_are_adopted(node: EmbeddedNode) -> None:
    document = deployment("orphan", 1, shell("exec sleep 600"))
    node.apply(document)
    node.kubectl("rollout status deploy/orphan --timeout=30s")
    before = node.kubectl("get pods -l app=orphan -o name")
    node.kubectl("delete deploy orphan --cascade=orphan")
    eventually(
        lambda: node.kubectl("get rs -l app=orphan -o jsonpath={.items[*].metadata.ownerReferences}"),
        "".__eq__,
    )
    node.apply(document)
    node.kubectl("rollout status deploy/orphan --timeout=30s")
    assert node.kubectl("get pods -l app=orphan -o name") == before
