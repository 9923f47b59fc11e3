"""What every Kube keeps, by the words of forge/plan/lab_ports.py: one class of tests for all of them.

A test module subclasses KubeContract and gives a fixture `kube`, on a cluster where nothing but what a
new one has is there, or what other tests of the class left in namespaces of their own.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from forge.errors import OperationFailed
from forge.plan.lab_ports import Kube, Object, ObjectRef
from forge.plan.values import Owner

DEADLINE_S = 60.0
OWNER = Owner("shop", "0123456789abcdef")
OTHER = Owner("rival", "fedcba9876543210")
_numbers = itertools.count(1)


def thing(kind: str, name: str, namespace: str = "", api_version: str = "v1", **rest: Any) -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def widget_definition(name: str = "widgets") -> Object:
    """A CRD of group lab.test with the short name wit."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {
        "group": "lab.test",
        "scope": "Namespaced",
        "names": {
            "plural": name,
            "singular": name[:-1],
            "kind": name[:-1].title(),
            "shortNames": [name[:2] + "t"],
        },
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    return thing("CustomResourceDefinition", f"{name}.lab.test", "", "apiextensions.k8s.io/v1", spec=spec)


def apply(
    kube: Kube, *objects: Object, owner: Owner = OWNER, places: Sequence[str] = ()
) -> tuple[ObjectRef, ...]:
    return kube.apply(objects, owner=owner, places=places, progress=lambda _: None, cancel=threading.Event())


def delete(kube: Kube, *refs: ObjectRef, owner: Owner | None = None) -> tuple[ObjectRef, ...]:
    return kube.delete(refs, owner=owner, cancel=threading.Event())


class KubeContract:
    @pytest.fixture
    def space(self, kube: Kube) -> str:
        """A namespace of the test's own."""
        name = f"space-{next(_numbers)}"
        apply(kube, thing("Namespace", name))
        return name

    def test_it_says_which_cluster_it_is(self, kube: Kube) -> None:
        namespace = kube.get("v1", "Namespace", "", "kube-system")
        assert namespace is not None
        assert kube.identity() == namespace["metadata"]["uid"]

    def test_what_is_applied_is_there_and_carries_its_owner(self, kube: Kube, space: str) -> None:
        (ref,) = apply(kube, thing("ConfigMap", "a", space, data={"k": "v"}))
        found = kube.get("v1", "ConfigMap", space, "a")
        assert found is not None
        assert found["data"] == {"k": "v"}
        assert found["metadata"]["labels"] == {
            "dev.praxis.forge/managed": "true",
            "dev.praxis.forge/environment": "shop",
            "dev.praxis.forge/environment-id": "0123456789abcdef",
        }
        assert (ref.api_version, ref.kind, ref.namespace, ref.name) == ("v1", "ConfigMap", space, "a")
        assert ref.uid == found["metadata"]["uid"]

    def test_refs_come_in_the_order_given(self, kube: Kube) -> None:
        name = f"space-{next(_numbers)}"
        refs = apply(
            kube, thing("ConfigMap", "a", name), thing("Namespace", name), thing("ConfigMap", "b", name)
        )
        assert [(r.kind, r.name) for r in refs] == [
            ("ConfigMap", "a"),
            ("Namespace", name),
            ("ConfigMap", "b"),
        ]

    def test_every_object_is_told_of_before_it_is_there(self, kube: Kube) -> None:
        name = f"space-{next(_numbers)}"
        told: list[ObjectRef] = []

        def intend(refs: tuple[ObjectRef, ...]) -> None:
            assert not kube.observe(refs)
            told.extend(refs)

        objects = (thing("ConfigMap", "a", name), thing("Namespace", name))
        refs = kube.apply(
            objects, owner=OWNER, intend=intend, progress=lambda _: None, cancel=threading.Event()
        )
        assert sorted(told, key=str) == sorted(
            (ObjectRef(r.api_version, r.kind, r.namespace, r.name) for r in refs), key=str
        )

    def test_residents_are_what_somebody_put_into_a_namespace(self, kube: Kube, space: str) -> None:
        assert kube.residents(space) == ()
        apply(kube, widget_definition())
        put = apply(
            kube, thing("ConfigMap", "a", space), thing("Widget", "w", space, "lab.test/v1", spec={"size": 1})
        )
        found = {(r.kind, r.namespace, r.name) for r in kube.residents(space)}
        assert found == {("ConfigMap", space, "a"), ("Widget", space, "w")}
        delete(kube, *put)
        assert kube.residents(space) == ()

    def test_a_namespace_that_is_left_out_is_default(self, kube: Kube) -> None:
        (ref,) = apply(kube, thing("ConfigMap", f"c-{next(_numbers)}"))
        assert ref.namespace == "default"

    def test_applying_again_changes_nothing(self, kube: Kube, space: str) -> None:
        document = thing("ConfigMap", "a", space, data={"k": "v"})
        assert apply(kube, document) == apply(kube, document)

    def test_a_change_shows_in_the_generation(self, kube: Kube, space: str) -> None:
        (before,) = apply(kube, thing("ConfigMap", "a", space))
        (web,) = apply(kube, deployment("w", space, replicas=0))
        (changed,) = apply(kube, deployment("w", space, replicas=1))
        assert (changed.uid, changed.generation) == (web.uid, web.generation + 1)
        assert kube.observe([web, before]) == {web: changed, before: before}

    def test_an_unknown_kind_is_named_with_its_place_and_nothing_is_sent(
        self, kube: Kube, space: str
    ) -> None:
        objects = (thing("ConfigMap", "a", space), thing("Gadget", "g", space, "lab.test/v9"))
        with pytest.raises(OperationFailed, match=r"b\.yaml, document 2 needs the kind Gadget") as caught:
            apply(kube, *objects, places=["a.yaml, document 1", "b.yaml, document 2"])
        assert caught.value.code == "FG0733"

    def test_a_definition_and_its_objects_come_together_in_any_order(self, kube: Kube, space: str) -> None:
        refs = apply(kube, thing("Widget", "w", space, "lab.test/v1", spec={"size": 3}), widget_definition())
        assert [r.kind for r in refs] == ["Widget", "CustomResourceDefinition"]
        for word in ("widgets.lab.test/w", "widget/w", "wit/w", "Widget/w"):
            (found,) = kube.find(word, space)
            assert found["spec"] == {"size": 3}

    @pytest.mark.parametrize(
        "word", ["deploy/w", "deployment/w", "deployments/w", "deployment.apps/w", "Deployment/w"]
    )
    def test_objects_are_found_by_what_a_user_types(self, kube: Kube, space: str, word: str) -> None:
        apply(kube, deployment("w", space))
        (found,) = kube.find(word, space)
        assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == (
            "apps/v1",
            "Deployment",
            "w",
        )

    def test_a_type_alone_finds_all_that_its_labels_choose(self, kube: Kube, space: str) -> None:
        red, blue = thing("ConfigMap", "red", space), thing("ConfigMap", "blue", space)
        red["metadata"]["labels"] = {"colour": "red"}
        apply(kube, red, blue)
        names = {one["metadata"]["name"] for one in kube.find("cm", space)}
        assert {"red", "blue"} <= names
        assert [one["kind"] for one in kube.find("cm", space, selector="colour=red")] == ["ConfigMap"]

    @pytest.mark.parametrize("word", ["cm/none", "nonsense/none", "nonsense"])
    def test_what_is_not_there_is_found_empty(self, kube: Kube, space: str, word: str) -> None:
        assert kube.find(word, space) == ()

    def test_get_gives_none_for_what_is_not_there(self, kube: Kube, space: str) -> None:
        assert kube.get("v1", "ConfigMap", space, "none") is None
        assert kube.get("nonsense.test/v1", "Nonsense", space, "none") is None

    def test_observing_tells_only_what_is_still_there(self, kube: Kube, space: str) -> None:
        refs = apply(kube, *(thing("ConfigMap", f"c{i}", space) for i in range(6)))
        delete(kube, refs[2])
        assert kube.observe(refs) == {ref: ref for ref in refs if ref != refs[2]}
        (again,) = apply(kube, thing("ConfigMap", "c2", space))
        assert kube.observe(refs)[refs[2]] == again
        assert again.uid != refs[2].uid
        assert kube.observe([ObjectRef("nonsense.test/v1", "Nonsense", space, "x")]) == {}

    def test_deleting_waits_until_it_is_gone_and_tells_what_was_there(self, kube: Kube, space: str) -> None:
        refs = apply(kube, thing("ConfigMap", "a", space), thing("Secret", "s", space))
        gone = ObjectRef("v1", "ConfigMap", space, "never")
        (here,) = apply(kube, thing("ConfigMap", f"d-{next(_numbers)}"))
        assert delete(kube, replace(here, namespace="", uid="")) != ()
        assert set(delete(kube, *refs, gone)) == set(refs)
        assert kube.observe(refs) == {}
        assert delete(kube, *refs) == ()

    def test_an_object_without_a_grace_is_deleted_with_none(self, kube: Kube, space: str) -> None:
        refs = apply(kube, thing("ConfigMap", "a", space))
        assert kube.delete(refs, grace_s=0, cancel=threading.Event()) == refs
        assert kube.observe(refs) == {}

    def test_deleting_of_a_kind_that_is_gone_is_a_success(self, kube: Kube, space: str) -> None:
        assert delete(kube, ObjectRef("nonsense.test/v1", "Nonsense", space, "x")) == ()

    def test_what_is_not_the_owners_stays(self, kube: Kube, space: str) -> None:
        (theirs,) = apply(kube, thing("ConfigMap", "theirs", space), owner=OTHER)
        assert delete(kube, theirs, owner=OWNER) == ()
        assert kube.observe([theirs]) == {theirs: theirs}
        assert delete(kube, theirs, owner=OTHER) == (theirs,)

    def test_what_others_made_is_changed_and_stays_theirs(self, kube: Kube, space: str) -> None:
        apply(kube, thing("ConfigMap", "theirs", space, data={"k": "1"}), owner=OTHER)
        (ref,) = apply(kube, thing("ConfigMap", "theirs", space, data={"k": "2"}), owner=OWNER)
        found = kube.get("v1", "ConfigMap", space, "theirs")
        assert found is not None
        assert found["data"] == {"k": "2"}
        assert found["metadata"]["labels"]["dev.praxis.forge/environment"] == "rival"
        assert delete(kube, ref, owner=OWNER) == ()

    def test_what_nobody_made_does_not_become_the_owners(self, kube: Kube) -> None:
        (ref,) = apply(kube, thing("Namespace", "default"))
        found = kube.get("v1", "Namespace", "", "default")
        assert found is not None
        assert "dev.praxis.forge/managed" not in (found["metadata"].get("labels") or {})
        assert delete(kube, ref, owner=OWNER) == ()

    def test_another_one_of_that_name_stays(self, kube: Kube, space: str) -> None:
        (first,) = apply(kube, thing("ConfigMap", "a", space))
        delete(kube, first)
        (second,) = apply(kube, thing("ConfigMap", "a", space))
        assert delete(kube, first) == ()
        assert kube.observe([second]) == {second: second}

    def test_a_value_that_somebody_else_changed_shows(self, kube: Kube, space: str) -> None:
        (ref,) = apply(kube, thing("ConfigMap", "a", space, data={"k": "v"}))
        assert ref.is_as_left(kube.observe([ref])[ref])
        kube.patch("v1", "ConfigMap", space, "a", {"data": {"beside": "x"}})
        beside = kube.observe([ref])[ref]
        kube.patch("v1", "ConfigMap", space, "a", {"data": {"k": "other"}})
        changed = kube.observe([ref])[ref]
        assert beside.uid == changed.uid == ref.uid
        assert not changed.fields or not ref.is_as_left(changed)

    def test_a_service_goes_and_comes_again(self, kube: Kube, space: str) -> None:
        service = thing("Service", "s", space, spec={"selector": {"app": "s"}, "ports": [{"port": 80}]})
        (first,) = apply(kube, service)
        assert delete(kube, first) == (first,)
        (second,) = apply(kube, service)
        assert second.uid != first.uid

    def test_a_patch_merges(self, kube: Kube, space: str) -> None:
        apply(kube, thing("ConfigMap", "a", space, data={"k": "v", "gone": "x"}))
        found = kube.patch("v1", "ConfigMap", space, "a", {"data": {"new": "n", "gone": None}})
        assert found["data"] == {"k": "v", "new": "n"}
        with pytest.raises(OperationFailed):
            kube.patch("v1", "ConfigMap", space, "none", {"data": {}})

    def test_a_watch_shows_it_come_change_and_go(self, kube: Kube, space: str) -> None:
        cancel = threading.Event()
        seen = kube.watch("v1", "ConfigMap", space, "a", cancel=cancel, timeout_s=DEADLINE_S)
        assert next(seen) is None
        apply(kube, thing("ConfigMap", "a", space, data={"k": "1"}))
        assert _data(seen) == {"k": "1"}
        (ref,) = apply(kube, thing("ConfigMap", "a", space, data={"k": "2"}))
        assert _data(seen) == {"k": "2"}
        delete(kube, ref)
        assert any(found is None for found in seen)
        cancel.set()
        assert list(seen) == []

    def test_a_watch_ends_in_time(self, kube: Kube, space: str) -> None:
        seen = kube.watch("v1", "ConfigMap", space, "a", cancel=threading.Event(), timeout_s=0.2)
        assert list(seen) == [None]

    def test_a_watch_waits_for_a_kind_too(self, kube: Kube, space: str) -> None:
        seen = kube.watch("lab.test/v1", "Gizmo", space, "g", cancel=threading.Event(), timeout_s=DEADLINE_S)
        assert next(seen) is None
        apply(kube, widget_definition("gizmos"), thing("Gizmo", "g", space, "lab.test/v1"))
        found = next(seen)
        assert found is not None
        assert found["kind"] == "Gizmo"

    def test_a_token_is_had_of_an_account_that_is_there(self, kube: Kube, space: str) -> None:
        apply(kube, thing("ServiceAccount", "robot", space))
        assert kube.token(space, "robot", 3600.0)
        with pytest.raises(OperationFailed):
            kube.token(space, "nobody", 3600.0)

    def test_events_and_logs_of_what_has_none(self, kube: Kube, space: str) -> None:
        assert kube.events(space, "Pod", "none") == ()


def deployment(name: str, namespace: str = "", replicas: int = 0, image: str = "server:1") -> Object:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": name, "image": image}]},
        },
    }
    return thing("Deployment", name, namespace, "apps/v1", spec=spec)


def _data(seen: Iterator[Object | None]) -> Any:
    found = next(seen)
    assert found is not None
    return found["data"]
