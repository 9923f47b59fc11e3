"""OpenAPI documents are those of the real server, and hold what kubectl looks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge.embedded.api.openapi.document import Served, Sub, document
from tests.forge.embedded.recorded import needs_recordings, pairs

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
LEASES = Served("leases", "Lease", "LeaseList", True, VERBS)
PODS = Served(
    "pods",
    "Pod",
    "PodList",
    True,
    VERBS,
    (Sub("status", "Pod", "", "v1"), Sub("log", "Pod", "", "v1", ("get",))),
)
NODES = Served("nodes", "Node", "NodeList", False, VERBS)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set[str]().union(*map(references, value)) if isinstance(value, list) else set()


DOCUMENTS = [
    pytest.param("coordination.k8s.io", "v1", (LEASES,), id="leases"),
    pytest.param("", "v1", (PODS, NODES), id="core"),
    pytest.param(
        "demo.test",
        "v1",
        (Served("toys", "Toy", "ToyList", True, VERBS, (), {"type": "object", "properties": {}}),),
        id="custom",
    ),
]


@pytest.mark.parametrize(("group", "version", "resources"), DOCUMENTS)
def test_every_reference_leads_somewhere(group: str, version: str, resources: tuple[Served, ...]) -> None:
    made = document(group, version, resources)
    assert references(made) <= set(made["components"]["schemas"])
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(("group", "version", "resources"), DOCUMENTS)
def test_kubectl_finds_the_kind_and_server_side_validation(
    group: str, version: str, resources: tuple[Served, ...]
) -> None:
    paths = document(group, version, resources)["paths"]
    patches = [item["patch"] for item in paths.values() if "patch" in item]
    assert patches
    for operation in patches:
        assert operation["x-kubernetes-group-version-kind"]["group"] == group
        assert "fieldValidation" in [p["name"] for p in operation["parameters"]]


def test_a_cluster_scoped_resource_has_no_namespaces_and_a_subresource_its_verbs() -> None:
    paths = document("", "v1", (PODS, NODES))["paths"]
    assert sorted(paths) == [
        "/api/v1/",
        "/api/v1/namespaces/{namespace}/pods",
        "/api/v1/namespaces/{namespace}/pods/{name}",
        "/api/v1/namespaces/{namespace}/pods/{name}/log",
        "/api/v1/namespaces/{namespace}/pods/{name}/status",
        "/api/v1/nodes",
        "/api/v1/nodes/{name}",
        "/api/v1/pods",
    ]
    assert set(paths["/api/v1/namespaces/{namespace}/pods/{name}/log"]) == {"get", "parameters"}


def equal(mine: Any, theirs: Any, path: str = "") -> list[str]:
    """Where they differ; the kinds of DeleteOptions and WatchEvent are those of the groups served."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        keys = [
            k for k in {*mine, *theirs} if not (k == "x-kubernetes-group-version-kind" and "meta.v1" in path)
        ]
        return [d for k in keys for d in equal(mine.get(k), theirs.get(k), f"{path}/{k}")]
    return [] if mine == theirs else [path]


@pytest.mark.shared
@needs_recordings
def test_the_recorded_document_of_leases() -> None:
    (pair,) = [p for p in pairs("kube-apiserver-1.32-discovery") if p["id"] == "openapi-v3-lease"]
    found = equal(document("coordination.k8s.io", "v1", (LEASES,), release="1.32"), pair["response"]["body"])
    # The deprecated watch paths are not served.
    assert {path for path in found if "/watch/" not in path} == set()


@pytest.mark.shared
@needs_recordings
def test_the_recorded_document_of_a_custom_resource() -> None:
    recorded = pairs("kube-apiserver-1.32-cr-openapi")
    (pair,) = [p for p in recorded if p["id"] == "group"]
    spec = next(p for p in recorded if p["id"].startswith("crd-create"))["response"]["body"]["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    subs = (Sub("status", "Toy", "demo.test", "v1"), Sub("scale", "Scale", "autoscaling", "v1"))
    toys = Served("toys", "Toy", "ToyList", True, VERBS, subs, schema)
    made = document("demo.test", "v1", (toys,), release="$VERSION")
    assert equal(made, pair["response"]["body"]) == []
