"""A workload is held down by its replicas and let go as it was; what somebody else did meanwhile stays."""

from __future__ import annotations

import pytest

from forge.errors import Interrupted, OperationFailed, Unhealthy
from forge.kinds import fault as faults
from forge.plan.faults import How
from forge.plan.lab_ports import Object
from tests.kit.deployments import SIM, Place


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.mark.parametrize("how", list(How))
def test_it_is_held_down_and_let_go_as_it_was(place: Place, how: How) -> None:
    fault = place.fault(how)
    faults.hold(fault, place.site)
    assert (place.thing["spec"]["replicas"], place.pods()) == (0, [])
    assert faults.restore(fault, place.site) == place.thing["metadata"]["generation"]
    assert (place.thing["spec"]["replicas"], place.pods()) == (2, ["sim-0", "sim-1"])


def test_pods_that_are_killed_are_marked_before_anything_ends(place: Place) -> None:
    marks: list[list[str | None]] = []

    def before(name: str) -> None:
        if name == "patch Deployment shop/sim":
            pods = [o for (_, kind, _, _), o in place.cluster.objects.items() if kind == "Pod"]
            marks.append([p["metadata"].get("annotations", {}).get(faults.WITHOUT_WARNING) for p in pods])

    place.cluster.before = before
    faults.hold(place.fault(How.KILL), place.site)
    assert marks == [["true", "true"]]


def test_holding_down_twice_changes_nothing_more(place: Place) -> None:
    fault = place.fault()
    faults.hold(fault, place.site)
    generation = place.thing["metadata"]["generation"]
    faults.hold(fault, place.site)
    assert place.thing["metadata"]["generation"] == generation


def test_one_that_was_never_stopped_is_left(place: Place) -> None:
    """The command was killed after it was recorded."""
    assert faults.restore(place.fault(), place.site) is None
    assert place.said == ["it is up already"]


def test_one_that_somebody_scaled_meanwhile_is_left(place: Place) -> None:
    fault = place.fault()
    faults.hold(fault, place.site)
    place.kube("east").patch(*SIM, {"spec": {"replicas": 1}})
    assert faults.restore(fault, place.site) is None
    assert place.thing["spec"]["replicas"] == 1


def test_one_that_somebody_changed_meanwhile_comes_back_but_is_not_as_it_was(place: Place) -> None:
    fault = place.fault()
    faults.hold(fault, place.site)
    place.kube("east").patch(*SIM, {"spec": {"paused": True}})
    assert faults.restore(fault, place.site) is None
    assert place.thing["spec"]["replicas"] == 2


def test_another_one_of_that_name_is_left(place: Place) -> None:
    fault = place.fault()
    faults.hold(fault, place.site)
    place.cluster.drop(SIM)
    place.cluster.put(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "sim", "namespace": "shop"},
            "spec": {"replicas": 0},
        }
    )
    assert faults.restore(fault, place.site) is None
    assert place.thing["spec"]["replicas"] == 0
    assert place.said[-1:] == ["it is gone"]


def test_pods_that_do_not_end_are_waited_for_until_it_is_stopped(place: Place) -> None:
    place.frozen = True
    place.cancel.set()
    with pytest.raises(Interrupted):
        faults.hold(place.fault(), place.site)
    assert place.said == ["2 pods still ending"]
    assert place.thing["spec"]["replicas"] == 0


def test_a_workload_that_gives_up_is_told(place: Place) -> None:
    fault = place.fault()
    faults.hold(fault, place.site)
    place.frozen = True
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    place.cluster.objects[SIM]["status"] = {"conditions": [late]}
    with pytest.raises(Unhealthy, match="ProgressDeadlineExceeded") as raised:
        faults.restore(fault, place.site)
    assert raised.value.code == "FG0782"


def test_a_cluster_that_does_not_answer_may_be_tried_again(place: Place) -> None:
    fault = place.fault()
    place.cluster.down = True
    with pytest.raises(OperationFailed) as raised:
        faults.hold(fault, place.site)
    assert raised.value.may_pass


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"matchLabels": {"a": "1", "b": "2"}}, "a=1,b=2"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, "a in (1,2)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, "a notin (1)"),
        ({"matchLabels": {"b": "2"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "b=2,a"),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, "!a"),
    ],
)
def test_a_selector_is_asked_as_it_is_meant(selector: Object, text: str) -> None:
    assert faults._selector({"spec": {"selector": selector}}) == text
