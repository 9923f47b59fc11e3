"""The packaged types say what Kubernetes' own definitions say."""

from __future__ import annotations

from importlib.resources import files

import pytest

from forge.embedded.api.openapi.builtin import builtin, object_meta
from forge.embedded.api.openapi.data import docs, fields_of, full_name, types
from forge.embedded.api.schema.model import Schema

SERVED = [
    ("", "v1", "Namespace ConfigMap Secret Service Endpoints ServiceAccount Pod Event Node"),
    ("apps", "v1", "Deployment ReplicaSet"),
    ("discovery.k8s.io", "v1", "EndpointSlice"),
    ("events.k8s.io", "v1", "Event"),
    ("coordination.k8s.io", "v1", "Lease"),
    ("rbac.authorization.k8s.io", "v1", "Role RoleBinding ClusterRole ClusterRoleBinding"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("storage.k8s.io", "v1", "StorageClass"),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"),
    ("authentication.k8s.io", "v1", "SelfSubjectReview TokenReview TokenRequest"),
    ("autoscaling", "v1", "Scale"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("apps", "v1", "DeleteOptions Status"),
]
KINDS = [(group, version, kind) for group, version, kinds in SERVED for kind in kinds.split()]


def at(schema: Schema | None, *path: str) -> Schema:
    for step in path:
        assert schema is not None
        schema = schema.items if step == "[]" else schema.child(step)
    assert schema is not None
    return schema


@pytest.mark.parametrize(("group", "version", "kind"), KINDS)
def test_every_served_kind_is_packaged(group: str, version: str, kind: str) -> None:
    schema = builtin(group, version, kind)
    assert schema is not None
    assert schema.type == "object"
    assert docs()[full_name(group, version, kind)][""]


def test_what_is_not_served_is_not_packaged() -> None:
    assert builtin("batch", "v1", "Job") is None
    assert builtin("nope", "v1", "Pod") is None


LISTS = [
    pytest.param("Pod", ("spec", "containers"), "map", ("name",), "name", id="containers"),
    pytest.param(
        "Pod",
        ("spec", "containers", "[]", "ports"),
        "map",
        ("containerPort", "protocol"),
        "containerPort",
        id="container ports",
    ),
    pytest.param("Pod", ("spec", "containers", "[]", "env"), "map", ("name",), "name", id="env"),
    pytest.param("Pod", ("spec", "containers", "[]", "args"), "atomic", (), "", id="args"),
    pytest.param("Pod", ("spec", "tolerations"), "atomic", (), "", id="tolerations"),
    pytest.param("Pod", ("spec", "volumes"), "map", ("name",), "name", id="volumes"),
    pytest.param("Pod", ("status", "conditions"), "map", ("type",), "type", id="conditions"),
    pytest.param("Service", ("spec", "ports"), "map", ("port", "protocol"), "port", id="service ports"),
    pytest.param("Service", ("metadata", "finalizers"), "set", (), "", id="finalizers"),
    pytest.param("Service", ("metadata", "ownerReferences"), "map", ("uid",), "uid", id="owner references"),
]


@pytest.mark.parametrize(("kind", "path", "list_type", "keys", "merge_key"), LISTS)
def test_lists(
    kind: str, path: tuple[str, ...], list_type: str, keys: tuple[str, ...], merge_key: str
) -> None:
    found = at(builtin("", "v1", kind), *path)
    assert (found.list_type, found.list_keys, found.merge_key) == (list_type, keys, merge_key)


def test_inlined_structs_stand_among_the_fields_of_their_owner() -> None:
    volume = at(builtin("", "v1", "Pod"), "spec", "volumes", "[]")
    assert volume.retain is False
    assert at(volume, "emptyDir", "sizeLimit").int_or_string
    assert at(builtin("", "v1", "Pod"), "spec", "volumes").retain


def test_atomic_structs_quantities_bytes_and_times() -> None:
    assert at(builtin("apps", "v1", "Deployment"), "spec", "selector").map_type == "atomic"
    assert at(builtin("", "v1", "Service"), "spec", "selector").map_type == "atomic"
    assert at(builtin("", "v1", "Secret"), "data", "any").raw["format"] == "byte"
    assert object_meta().properties["creationTimestamp"].raw["format"] == "date-time"


def test_types_that_contain_themselves_are_made_as_deep_as_they_are_asked_for() -> None:
    schema = builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    props = at(schema, "spec", "versions", "[]", "schema", "openAPIV3Schema")
    assert at(props, *["properties", "any"] * 20).type == "object"


def test_every_type_that_is_referred_to_is_packaged() -> None:
    for name in types():
        for entry in fields_of(name):
            leaf = entry["t"].rpartition("]")[2].removeprefix("*")
            assert "." not in leaf or leaf in types() or leaf in docs(), (name, entry)


def test_the_data_are_small() -> None:
    folder = files("forge.embedded.api.openapi")
    assert sum(len(folder.joinpath(f).read_bytes()) for f in ("types.json.gz", "docs.json.gz")) < 150_000
