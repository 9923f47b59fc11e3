"""Whether the one node takes a pod."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.node.scheduling import refusal

TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def node(*taints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"zone": "a"}}, "spec": {"taints": list(taints), **spec}}


def affinity(operator: str, *values: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("spec", "where", "why"),
    [
        pytest.param({}, node(), "", id="a plain pod"),
        pytest.param({}, node(TAINT), "untolerated taint {k: v}", id="a taint"),
        pytest.param({"tolerations": [{"key": "k", "value": "v"}]}, node(TAINT), "", id="a tolerated taint"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, node(TAINT), "", id="everything tolerated"),
        pytest.param(
            {"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            node(TAINT),
            "untolerated taint",
            id="tolerated for another effect",
        ),
        pytest.param(
            {}, node({"key": "k", "effect": "PreferNoSchedule"}), "", id="a taint that only prefers"
        ),
        pytest.param({}, node(unschedulable=True), "unschedulable", id="a cordoned node"),
        pytest.param({"nodeSelector": {"zone": "b"}}, node(), "affinity/selector", id="another zone wanted"),
        pytest.param({"nodeSelector": {"zone": "a"}}, node(), "", id="this zone wanted"),
        pytest.param(affinity("NotIn", "a"), node(), "affinity/selector", id="anywhere but here"),
        pytest.param(affinity("In", "a", "b"), node(), "", id="one of two zones"),
        pytest.param({"schedulerName": "mine"}, node(), "another scheduler", id="somebody else's pod"),
    ],
)
def test_the_node_takes_or_refuses(spec: dict[str, Any], where: dict[str, Any], why: str) -> None:
    found = refusal({"spec": spec}, where)
    assert bool(found) == bool(why)
    assert why in found
