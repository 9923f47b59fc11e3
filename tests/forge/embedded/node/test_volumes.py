"""What stands in a volume, and why one cannot be mounted."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.node.volumes import content

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "labels": {"a": 'x"y', "b": "z"}},
    "spec": {"containers": [{"name": "c"}], "serviceAccountName": "robot"},
}
OBJECTS: dict[tuple[str, str], dict[str, Any]] = {
    ("configMap", "conf"): {"data": {"a": "1"}, "binaryData": {"raw": "AAE="}},
    ("secret", "sec"): {"data": {"pw": "czNjcmV0"}},
}


def made(volume: dict[str, Any], token: str = "tok") -> tuple[dict[str, tuple[bytes, int]], str]:
    lookup = lambda kind, name: OBJECTS.get((kind, name))  # noqa: E731 - a table as a function
    found = content({"name": "v", **volume}, POD, lookup, lambda _, __: token, {"cpu": "2"})
    return {path: (file.content, file.mode) for path, file in found.files.items()}, found.problem


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(
            {"configMap": {"name": "conf"}},
            {"a": (b"1", 0o644), "raw": (b"\0\1", 0o644)},
            id="a whole ConfigMap",
        ),
        pytest.param(
            {"configMap": {"name": "conf", "defaultMode": 0o600, "items": [{"key": "a", "path": "x/y"}]}},
            {"x/y": (b"1", 0o600)},
            id="one key at a path",
        ),
        pytest.param(
            {"secret": {"secretName": "sec", "items": [{"key": "pw", "path": "pw", "mode": 0o400}]}},
            {"pw": (b"s3cret", 0o400)},
            id="a Secret's key with a mode",
        ),
        pytest.param(
            {"configMap": {"name": "no", "optional": True}}, {}, id="an optional one that is not there"
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"l": (b'a="x\\"y"\nb="z"', 0o644)},
            id="the labels, quoted",
        ),
        pytest.param(
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"secret": {"name": "sec"}}]}},
            {"t": (b"tok", 0o644), "pw": (b"s3cret", 0o644)},
            id="several in one",
        ),
    ],
)
def test_the_files_of(volume: dict[str, Any], expected: dict[str, tuple[bytes, int]]) -> None:
    assert made(volume) == (expected, "")


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        pytest.param({"configMap": {"name": "no"}}, 'configmap "no" not found', id="no such ConfigMap"),
        pytest.param(
            {"secret": {"secretName": "sec", "items": [{"key": "k", "path": "p"}]}},
            "references non-existent secret key: k",
            id="no such key",
        ),
        pytest.param({"nfs": {}}, "volume v is of a kind that this node does not have", id="another kind"),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.x"}}]}},
            "unsupported fieldPath: spec.x",
            id="no such field",
        ),
    ],
)
def test_what_cannot_be_mounted(volume: dict[str, Any], problem: str) -> None:
    assert made(volume) == ({}, problem)


def test_a_token_needs_an_account() -> None:
    volume = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    assert made(volume, token="")[1] == 'serviceaccount "robot" not found'
