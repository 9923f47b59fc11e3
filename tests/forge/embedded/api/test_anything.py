"""Whatever is sent, there is an answer: never a traceback, and what was refused changed nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forge.embedded.api.cluster import SYSTEM
from forge.embedded.api.exchange import Ask, Reply
from forge.embedded.api.paths import parse
from tests.kit.embedded_cluster import config_map, definition
from tests.kit.embedded_machine import Machine

SCALED = {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}, "status": {}}
SPEC = {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "string", "default": "y"}}}
THING = {"type": "object", "properties": {"spec": SPEC, "status": {"type": "object"}}}
NAMESPACED = "namespaces/default"
OBJECTS = [
    f"/api/v1/{NAMESPACED}/configmaps/a",
    f"/api/v1/{NAMESPACED}/secrets/a",
    f"/api/v1/{NAMESPACED}/services/a",
    f"/api/v1/{NAMESPACED}/pods/a",
    f"/api/v1/{NAMESPACED}/serviceaccounts/a/token",
    "/api/v1/namespaces/a",
    "/api/v1/nodes/a/status",
    f"/apis/apps/v1/{NAMESPACED}/deployments/a",
    f"/apis/apps/v1/{NAMESPACED}/deployments/a/scale",
    f"/apis/lab.test/v1/{NAMESPACED}/things/a",
    f"/apis/lab.test/v1/{NAMESPACED}/things/a/scale",
    f"/apis/lab.test/v1/{NAMESPACED}/things/a/status",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a",
    f"/apis/rbac.authorization.k8s.io/v1/{NAMESPACED}/rolebindings/a",
    f"/apis/events.k8s.io/v1/{NAMESPACED}/events/a",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
]
MEMBERS = [
    "kind", "apiVersion", "metadata", "name", "namespace", "labels", "annotations", "finalizers", "spec", "data",
    "ownerReferences", "status", "conditions", "ports", "selector", "matchLabels", "template", "containers",
    "replicas", "rules", "roleRef", "subjects", "n", "versions", "names", "group", "schema", "openAPIV3Schema",
    "$patch", "op", "path", "value", "type", "clusterIP", "env", "volumes", "managedFields", "resourceVersion",
]  # fmt: skip
MEDIA = [
    "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
    "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf",
]  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70000), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "a b", "v1", "ConfigMap", "lab.test/v1", "Thing", "replace", "add", "/spec", "1Gi"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)


POD_SPEC = {
    "containers": [
        {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 1}]}
    ],
    "volumes": [{"name": "v", "configMap": {"name": "a"}}],
}
# A right body for each path; tests spoil one member of it.
RIGHT: dict[str, Any] = {
    "configmaps": config_map("a", k="1"),
    "secrets": {"metadata": {"name": "a"}, "stringData": {"k": "1"}, "type": "Opaque"},
    "services": {
        "metadata": {"name": "a"},
        "spec": {"ports": [{"port": 1, "targetPort": "x"}], "selector": {}},
    },
    "pods": {"metadata": {"name": "a"}, "spec": POD_SPEC},
    "token": {"spec": {"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": {"kind": "Secret"}}},
    "namespaces": {"metadata": {"name": "a", "labels": {"a": "b"}}},
    "nodes": {"metadata": {"name": "a"}, "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}},
    "deployments": {
        "metadata": {"name": "a", "annotations": {"a": "b"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "a"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC},
        },
    },
    "scale": {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a"},
        "spec": {"replicas": 1},
    },
    "things": {
        "apiVersion": "lab.test/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "finalizers": ["a/b"], "ownerReferences": [{"kind": "A", "name": "a"}]},
        "spec": {"n": 1},
    },
    "customresourcedefinitions": definition("items", "Item", THING, subresources=SCALED),
    "rolebindings": {
        "metadata": {"name": "a"},
        "subjects": [{"kind": "User", "name": "u"}],
        "roleRef": {"kind": "Role", "name": "r"},
    },
    "events": {
        "metadata": {"name": "a"},
        "regarding": {"kind": "Pod"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
    },
    "selfsubjectaccessreviews": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
}


def right_body(path: str) -> Any:
    return next((RIGHT[part] for part in reversed(path.split("/")) if part in RIGHT), {})


def spoilt(document: Any, place: list[int], value: Any) -> Any:
    """*document* with the member that *place* leads to replaced by *value*."""
    if not place or not isinstance(document, (dict, list)) or not document:
        return value
    step, *rest = place
    if isinstance(document, list):
        index = step % len(document)
        return [spoilt(v, rest, value) if i == index else v for i, v in enumerate(document)]
    chosen = sorted(document)[step % len(document)]
    return {k: spoilt(v, rest, value) if k == chosen else v for k, v in document.items()}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    path: Path = tmp_path_factory.mktemp("anything") / "store"
    made = Machine(path)
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made.made(definitions, definition("things", "Thing", THING, subresources=SCALED))
    made.settle()
    thing = {"apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 1}}
    made.made(f"/apis/lab.test/v1/{NAMESPACED}/things", thing)
    made.made(f"/api/v1/{NAMESPACED}/configmaps", config_map("a", k="1"))
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    made.made(f"/apis/apps/v1/{NAMESPACED}/deployments", {"metadata": {"name": "a"}, "spec": spec})
    made.made(f"/api/v1/{NAMESPACED}/services", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}})
    yield made
    made.journal.close()


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    path=st.sampled_from(OBJECTS),
    media=st.sampled_from(MEDIA),
    body=st.one_of(VALUES.map(lambda v: json.dumps(v).encode()), st.binary(max_size=40)),
    query=st.dictionaries(
        st.sampled_from(["dryRun", "fieldManager", "force", "fieldValidation", "limit", "labelSelector"]),
        st.sampled_from(["", "All", "true", "me", "Strict", "Warn", "2", "a in (b)"]),
        max_size=3,
    ),
)
def test_any_write_has_an_answer(
    machine: Machine, method: str, path: str, media: str, body: bytes, query: dict[str, str]
) -> None:
    target = path.rsplit("/", 1)[0] if method == "POST" and path.endswith("/a") else path
    before = machine.cluster.store.version
    ask = Ask(
        method, parse(method, target), query, {"Content-Type": media, "User-Agent": "t/1"}, SYSTEM, body
    )
    reply = machine.service.answer(ask)
    assert isinstance(reply, Reply)
    if reply.code >= 400:
        assert machine.cluster.store.version == before
    if method == "DELETE":
        return
    for record in machine.cluster.store.records("configmaps"):
        assert record.object == record.copy()


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["POST", "PUT", "PATCH"]),
    path=st.sampled_from(OBJECTS),
    media=st.sampled_from(MEDIA[:-1]),
    place=st.lists(st.integers(0, 5), min_size=1, max_size=6),
    value=VALUES,
)
def test_a_right_body_with_one_wrong_member_has_an_answer(
    machine: Machine, method: str, path: str, media: str, place: list[int], value: Any
) -> None:
    target = path.rsplit("/", 1)[0] if method == "POST" and path.endswith("/a") else path
    body = json.dumps(spoilt(right_body(path), place, value)).encode()
    headers = {"Content-Type": media, "User-Agent": "t/1"}
    before = machine.cluster.store.version
    ask = Ask(method, parse(method, target), {"fieldManager": "me", "force": "true"}, headers, SYSTEM, body)
    reply = machine.service.answer(ask)
    assert isinstance(reply, Reply)
    assert reply.code < 400 or machine.cluster.store.version == before


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([*OBJECTS, "/", "/api", "/apis", "/openapi/v3", "/readyz", "/apis/lab.test/v1"]),
    accept=st.one_of(st.sampled_from(["", "*/*", "application/yaml", "a;b;c=d,e;q=x"]), st.text(max_size=30)),
    query=st.dictionaries(
        st.sampled_from(
            ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch",
             "includeObject", "verbose", "exclude", "hash"]
        ),
        st.text(max_size=12),
        max_size=4,
    ),
)  # fmt: skip
def test_any_question_has_an_answer(machine: Machine, path: str, accept: str, query: dict[str, str]) -> None:
    for target in (path, path.rsplit("/", 1)[0] or "/"):
        ask = Ask("GET", parse("GET", target), query, {"Accept": accept}, SYSTEM)
        assert isinstance(machine.service.answer(ask), Reply)
