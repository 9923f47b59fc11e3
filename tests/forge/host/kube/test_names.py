"""Names lead to kinds as kubectl reads them, kinds to paths, and objects into the order they need."""

from __future__ import annotations

from typing import Any

import pytest

from forge.host.kube import discovery
from forge.host.kube.names import BUILTIN, ApiResource, Index, split
from forge.host.kube.ranks import defined, ranked
from forge.host.kube.together import together
from tests.kit.kube_contract import thing, widget_definition

INDEX = Index(
    [
        *BUILTIN.resources,
        ApiResource("x.io", "v1", "Widget", "widgets", "widget", ("wd", "po")),
        ApiResource("x.io", "v1beta1", "Widget", "widgets", "widget"),
        ApiResource("y.io", "v1", "Widget", "widgets", "widget", namespaced=False),
    ]
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("deploy", "apps/v1 Deployment"),
        ("Deployment", "apps/v1 Deployment"),
        ("deployments.apps", "apps/v1 Deployment"),
        ("deployment.v1.apps", "apps/v1 Deployment"),
        ("svc", "v1 Service"),
        ("crd", "apiextensions.k8s.io/v1 CustomResourceDefinition"),
        ("po", "v1 Pod"),
        ("wd", "x.io/v1 Widget"),
        ("widgets", "x.io/v1 Widget"),
        ("widget.y.io", "y.io/v1 Widget"),
        ("widgets.v1beta1.x.io", "x.io/v1beta1 Widget"),
        ("widgets.z.io", None),
        ("nothing", None),
        ("", None),
    ],
)
def test_a_word_means_a_kind(word: str, expected: str | None) -> None:
    found = INDEX.named(word)
    assert (found and f"{found.api_version} {found.kind}") == expected


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (BUILTIN.kind("v1", "Pod"), ("shop", "a", "log"), "/api/v1/namespaces/shop/pods/a/log"),
        (BUILTIN.kind("apps/v1", "Deployment"), ("", "", ""), "/apis/apps/v1/deployments"),
        (BUILTIN.kind("v1", "Namespace"), ("ignored", "shop", ""), "/api/v1/namespaces/shop"),
    ],
)
def test_a_kind_has_a_path(resource: ApiResource, where: tuple[str, str, str], path: str) -> None:
    assert resource.path(*where) == path


@pytest.mark.parametrize(
    ("text", "expected"),
    [("deploy/web", ("deploy", "web")), (" pods ", ("pods", "")), ("a/b/c", ("a", "b/c"))],
)
def test_type_and_name(text: str, expected: tuple[str, str]) -> None:
    assert split(text) == expected


def test_objects_are_sent_by_what_they_need() -> None:
    kinds = [
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("lab.test/v1", "Widget"),
        ("apps/v1", "Deployment"),
        ("v1", "Secret"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("v1", "Namespace"),
        ("apps/v1", "StatefulSet"),
    ]
    objects = [thing(kind, "a", api_version=version) for version, kind in kinds]
    assert ranked(objects) == [[5, 6], [3, 4], [2, 7], [1], [0]]
    assert ranked([]) == []


def test_definitions_say_what_they_bring() -> None:
    gone = widget_definition("gadgets")
    gone["spec"]["versions"][0]["served"] = False
    odd = thing(
        "CustomResourceDefinition", "odd", api_version="apiextensions.k8s.io/v1", spec={"versions": [3]}
    )
    assert defined([widget_definition(), gone, odd, thing("Secret", "s")]) == {("lab.test/v1", "Widget")}


def test_discovery_of_both_kinds_is_read() -> None:
    resource = {
        "resource": "things",
        "responseKind": {"kind": "Thing"},
        "scope": "Namespaced",
        "shortNames": ["th"],
        "verbs": ["get", "list"],
    }
    group = {"metadata": {"name": "x.io"}, "versions": [{"version": "v1", "resources": [resource]}]}
    expected = ApiResource("x.io", "v1", "Thing", "things", "", ("th",))
    assert list(discovery.at_once({"items": [group]})) == [expected]
    listed: dict[str, Any] = {"name": "things", "kind": "Thing", "namespaced": True, "shortNames": ["th"]}
    listed |= {"verbs": ["list"]}
    assert list(discovery.old("x.io/v1", {"resources": [listed, {"name": "things/status"}]})) == [expected]
    question = {**listed, "verbs": ["create"]}
    assert not next(discovery.old("x.io/v1", {"resources": [question]})).listed
    assert list(discovery.at_once({})) == list(discovery.old("v1", {})) == []


def test_work_is_done_together_in_order_and_an_error_stops_what_has_not_begun() -> None:
    assert together(lambda n: n * n, range(100), 8) == [n * n for n in range(100)]
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 3:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        together(work, range(10_000), 2)
    assert len(begun) < 10_000
