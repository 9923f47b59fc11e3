"""Events: the same thing said again is counted, and nothing is said in a namespace that is going."""

from __future__ import annotations

from forge.embedded.api import bootstrap, kinds
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.local import LocalClient
from forge.embedded.api.store import Store
from forge.embedded.api.values import Json
from forge.embedded.node.recorder import Recorder

ABOUT: Json = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "7"},
}


def cluster() -> Cluster:
    kinds.load()
    made = Cluster(Store())
    bootstrap.ensure(made)
    return made


def test_what_is_said_again_is_counted() -> None:
    here = cluster()
    recorder = Recorder(here, "kubelet", "lab")
    for _ in range(3):
        recorder.warn(ABOUT, "BackOff", "again", path="spec.containers{c}")
    recorder.note(ABOUT, "Started", "once")
    found = {r.object["reason"]: r.object for r in here.store.records("events")}
    assert {reason: event["count"] for reason, event in found.items()} == {"BackOff": 3, "Started": 1}
    assert found["BackOff"]["type"] == "Warning"
    assert found["BackOff"]["involvedObject"]["fieldPath"] == "spec.containers{c}"
    assert found["BackOff"]["source"] == {"component": "kubelet", "host": "lab"}


def test_a_namespace_that_goes_takes_no_events() -> None:
    here = cluster()
    client = LocalClient(here, "test")
    namespaces = client.resource("namespaces")
    document = {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {"name": "leaving", "finalizers": ["lab/keep"]},
    }
    client.create(namespaces, document)
    client.delete(namespaces, "leaving")
    about = {**ABOUT, "metadata": {**ABOUT["metadata"], "namespace": "leaving"}}
    Recorder(here, "kubelet").note(about, "Killing", "too late")
    assert not here.store.records("events")
