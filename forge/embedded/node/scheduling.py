"""Whether the one node takes a pod, and why not, in the words of the real scheduler. Pure."""

from __future__ import annotations

from forge.embedded.api import selectors
from forge.embedded.api.values import Json, dig


def refusal(pod: Json, node: Json) -> str:
    """Why the pod may not run on the node; empty when it may."""
    why = _refusal(pod, node)
    return (
        f"0/1 nodes are available: 1 {why}. preemption: 0/1 nodes are available: 1 Preemption is not "
        "helpful for scheduling."
        if why
        else ""
    )


def _refusal(pod: Json, node: Json) -> str:
    if pod["spec"].get("schedulerName") not in (None, "", "default-scheduler"):
        return "node(s) are not scheduled by another scheduler"
    tolerations = pod["spec"].get("tolerations") or []
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if dig(node, "spec", "unschedulable") and not _tolerated(cordon, tolerations):
        return "node(s) were unschedulable"
    for taint in dig(node, "spec", "taints") or []:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerated(taint, tolerations):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value') or ''}}}"
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()) or not _has_affinity(pod, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def _tolerated(taint: Json, tolerations: list[Json]) -> bool:
    for one in tolerations:
        if one.get("effect") and one["effect"] != taint.get("effect"):
            continue
        if not one.get("key") and one.get("operator") == "Exists":
            return True
        if one.get("key") != taint["key"]:
            continue
        if one.get("operator") == "Exists" or (one.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def _has_affinity(pod: Json, labels: Json) -> bool:
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = dig(pod["spec"], *path)
    if not terms:
        return True
    chosen = [
        selectors.label_selector({"matchExpressions": term.get("matchExpressions") or []})
        for term in terms
        if term.get("matchExpressions")
    ]
    return any(selector.matches(labels) for selector in chosen)
