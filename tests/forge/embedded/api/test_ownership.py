"""What goes with what: finalizers, owners, namespaces and definitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.api.exchange import Stream
from tests.kit.embedded_cluster import config_map, definition
from tests.kit.embedded_machine import MAPS, Machine

HOLD = ["lab.test/hold"]
OBJECT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "store")
    made.settle()
    yield made
    made.journal.close()


def owned(name: str, owner: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"]}
    reference |= {"uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks}
    made = config_map(name)
    made["metadata"]["ownerReferences"] = [reference]
    return made


def test_a_finalizer_holds_an_object_until_it_is_taken_away(machine: Machine) -> None:
    held = config_map("held") | {"metadata": {"name": "held", "finalizers": HOLD}}
    machine.made(MAPS, held)
    assert machine.call("DELETE", f"{MAPS}/held")[1]["metadata"]["deletionTimestamp"]
    assert machine.call("POST", MAPS, config_map("held"))[0] == 409
    machine.call("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": None}})
    assert not machine.there(f"{MAPS}/held")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("Background", [], id="background takes dependents after the owner"),
        pytest.param("Foreground", [], id="foreground takes dependents before the owner"),
        pytest.param("Orphan", ["child"], id="orphan leaves dependents"),
    ],
)
def test_dependents_follow_the_policy(machine: Machine, policy: str, expected: list[str]) -> None:
    owner = machine.made(MAPS, config_map("owner"))
    machine.made(MAPS, owned("child", owner, blocks=True))
    machine.call("DELETE", f"{MAPS}/owner", {"propagationPolicy": policy})
    machine.settle()
    left = machine.objects()[0]
    assert [name for name in left if name in ("owner", "child")] == expected
    assert not any(o["metadata"].get("ownerReferences") for o in left.values())


def test_foreground_waits_for_what_blocks_it(machine: Machine) -> None:
    owner = machine.made(MAPS, config_map("owner"))
    child = owned("child", owner, blocks=True)
    child["metadata"]["finalizers"] = HOLD
    machine.made(MAPS, child)
    machine.call("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    machine.settle()
    assert machine.there(f"{MAPS}/owner")
    machine.call("PATCH", f"{MAPS}/child", {"metadata": {"finalizers": None}})
    machine.settle()
    assert not machine.there(f"{MAPS}/owner")


def test_an_owner_of_another_uid_is_no_owner(machine: Machine) -> None:
    owner = machine.made(MAPS, config_map("owner"))
    owner["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    machine.made(MAPS, owned("child", owner))
    machine.settle()
    assert machine.there(f"{MAPS}/child")
    machine.pass_time(10)
    machine.settle()
    assert not machine.there(f"{MAPS}/child")


def test_a_namespace_goes_after_what_is_in_it(machine: Machine) -> None:
    machine.made("/api/v1/namespaces", {"metadata": {"name": "team"}})
    machine.settle()
    assert machine.there("/api/v1/namespaces/team/serviceaccounts/default")
    path = "/api/v1/namespaces/team/configmaps"
    machine.made(path, {"metadata": {"name": "held", "finalizers": HOLD}})
    assert machine.call("DELETE", "/api/v1/namespaces/team")[1]["status"]["phase"] == "Terminating"
    machine.settle()
    assert machine.call("POST", path, config_map("late"))[0] == 403
    conditions = machine.call("GET", "/api/v1/namespaces/team")[1]["status"]["conditions"]
    held = next(c for c in conditions if c["type"] == "NamespaceFinalizersRemaining")
    assert (held["status"], held["message"].split(": ")[1]) == (
        "True",
        "lab.test/hold in 1 resource instances",
    )
    machine.call("PATCH", f"{path}/held", {"metadata": {"finalizers": None}})
    machine.settle()
    assert not machine.there("/api/v1/namespaces/team")


def test_a_definition_is_served_once_it_is_established_and_takes_its_objects_along(machine: Machine) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    machine.made(definitions, definition("things", "Thing", OBJECT))
    things = "/apis/lab.test/v1/namespaces/default/things"
    assert machine.ask("GET", things).code == 404  # type: ignore[union-attr]
    machine.settle()
    machine.made(things, {"apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": "t"}})
    machine.restart()
    machine.settle()
    assert machine.there(f"{things}/t")
    machine.call("DELETE", f"{definitions}/things.lab.test")
    machine.settle()
    assert not machine.there(f"{definitions}/things.lab.test")
    machine.made(definitions, definition("things", "Thing", OBJECT))
    machine.settle()
    assert machine.call("GET", things)[1]["items"] == []


def test_two_definitions_cannot_have_one_name(machine: Machine) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    machine.made(definitions, definition("things", "Thing", OBJECT))
    machine.made(definitions, definition("items", "Thing", OBJECT))
    machine.settle()
    said = {}
    for name in ("items", "things"):
        document = machine.call("GET", f"{definitions}/{name}.lab.test")[1]
        said[name] = {c["type"]: (c["status"], c["reason"]) for c in document["status"]["conditions"]}
    # Made in the same second, the name decides who came first.
    assert said == {
        "items": {
            "NamesAccepted": ("True", "NoConflicts"),
            "Established": ("True", "InitialNamesAccepted"),
        },
        "things": {"NamesAccepted": ("False", "ListKindConflict"), "Established": ("False", "NotAccepted")},
    }


def test_events_are_forgotten_after_an_hour(machine: Machine) -> None:
    path = "/api/v1/namespaces/default/events"
    machine.made(path, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    machine.pass_time(3599)
    machine.settle()
    assert machine.there(f"{path}/e")
    machine.pass_time(2)
    machine.settle()
    assert not machine.there(f"{path}/e")


def test_watches_of_custom_objects_resume_after_a_restart(machine: Machine) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    machine.made(definitions, definition("things", "Thing", OBJECT))
    machine.settle()
    things = "/apis/lab.test/v1/namespaces/default/things"
    start = machine.call("GET", things)[1]["metadata"]["resourceVersion"]
    machine.made(things, {"apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": "t"}})
    machine.restart()
    machine.settle()
    stream = machine.ask("GET", things, query={"watch": "true", "resourceVersion": start})
    assert isinstance(stream, Stream)
    assert not stream.watcher.closed


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/namespaces/default/services/kubernetes", id="the API's own Service"),
        pytest.param(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", id="where it leads"
        ),
        pytest.param("/api/v1/namespaces/kube-node-lease", id="the namespace of nodes' leases"),
        pytest.param("/api/v1/namespaces/default/serviceaccounts/default", id="the account of a namespace"),
    ],
)
def test_what_a_cluster_is_not_itself_without_comes_back(machine: Machine, path: str) -> None:
    machine.settle()
    before = machine.call("GET", path)[1]["metadata"]["uid"]
    assert machine.call("DELETE", path)[0] == 200
    machine.settle()
    assert machine.call("GET", path)[1]["metadata"]["uid"] != before
