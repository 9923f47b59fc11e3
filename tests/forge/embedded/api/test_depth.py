"""What was let in can be shown and changed in every form; what is nested deeper is refused, by every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from forge.embedded.api import depth
from tests.kit.embedded_cluster import APPLY, MERGE, EmbeddedCluster, definition, until

THINGS = "/apis/lab.test/v1/namespaces/default/things"
OPEN = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        pytest.param(0, False, id="a plain value"),
        pytest.param(depth.LEVELS, False, id="just as deep as may be"),
        pytest.param(depth.LEVELS + 1, True, id="one level more"),
    ],
)
def test_levels_are_counted(levels: int, expected: bool) -> None:
    value: Any = 1
    for number in range(levels):
        value = {"a": value} if number % 2 else [value]
    assert depth.is_exceeded(value) == expected


@pytest.fixture(scope="module")
def client(cluster: EmbeddedCluster) -> Iterator[httpx.Client]:
    with cluster.client() as client:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        client.post(path, json=definition("things", "Thing", OPEN)).raise_for_status()
        until(client, THINGS)
        yield client


def thing(name: str, spec: str) -> str:
    head = {"apiVersion": "lab.test/v1", "kind": "Thing", "metadata": {"name": name}}
    return json.dumps(head)[:-1] + f', "spec": {spec}}}'


def sent(client: httpx.Client, method: str, path: str, body: str, media: str) -> int:
    return client.request(method, path, content=body, headers={"Content-Type": media}).status_code


def test_what_was_let_in_can_be_used_in_every_way(client: httpx.Client) -> None:
    body = thing("deep", nested(950))
    assert sent(client, "POST", THINGS, body, "application/json") == 201
    assert sent(client, "PATCH", f"{THINGS}/deep?fieldManager=x&force=true", body, APPLY) == 200
    assert sent(client, "PATCH", f"{THINGS}/deep", f'{{"spec":{nested(940)}}}', MERGE) == 200
    add = f'[{{"op":"add","path":"/spec/b","value":{nested(940)}}}]'
    assert sent(client, "PATCH", f"{THINGS}/deep", add, JSON_PATCH) == 200
    for accept in ("application/json", "application/yaml"):
        assert client.get(f"{THINGS}/deep", headers={"Accept": accept}).status_code == 200
    assert client.get(THINGS, headers={"Accept": TABLE}).status_code == 200
    assert client.delete(f"{THINGS}/deep").status_code == 200


@pytest.mark.parametrize(
    ("method", "media", "body"),
    [
        pytest.param("POST", "application/json", thing("no", nested(1000)), id="a JSON body"),
        pytest.param("POST", "application/yaml", thing("no", nested(1000)), id="a YAML body"),
        pytest.param("PATCH", APPLY, thing("base", nested(1000)), id="an apply"),
        pytest.param("PATCH", MERGE, f'{{"spec":{nested(1000)}}}', id="a merge patch"),
        pytest.param(
            "PATCH", JSON_PATCH, f'[{{"op":"add","path":"/spec/b","value":{nested(1000)}}}]', id="a JSON patch"
        ),
        pytest.param(
            "PATCH", JSON_PATCH, f'[{{"op":"add","path":"/spec{"/a" * 500}","value":{nested(700)}}}]',
            id="a patch that reaches deep",
        ),
    ],
)  # fmt: skip
def test_what_is_too_deep_is_refused(client: httpx.Client, method: str, media: str, body: str) -> None:
    sent(client, "POST", THINGS, thing("base", nested(600)), "application/json")
    query = "?fieldManager=x&force=true" if media == APPLY else ""
    path = THINGS if method == "POST" else f"{THINGS}/base{query}"
    answer = client.request(method, path, content=body, headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert depth.SAID in answer.json()["message"]
