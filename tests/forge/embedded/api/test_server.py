"""Over the wire: what is refused, and how; what goes wrong is never a traceback."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.embedded_cluster import MERGE, EmbeddedCluster, config_map, definition

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def client(cluster: EmbeddedCluster) -> Iterator[httpx.Client]:
    with cluster.client() as client:
        yield client


def said(answer: httpx.Response) -> tuple[int, str]:
    """(code, reason and the start of the message)."""
    body = answer.json()
    return answer.status_code, f"{body.get('reason', '')}: {body['message']}"


def test_the_version_says_that_this_is_not_kubernetes(client: httpx.Client) -> None:
    for path in ("/version", "/version/"):
        assert client.get(path).json()["gitVersion"] == "v1.32.13+forge"


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
def test_health_is_a_word_or_a_list(client: httpx.Client, endpoint: str) -> None:
    assert client.get(f"/{endpoint}").text == "ok"
    lines = client.get(f"/{endpoint}?verbose").text.splitlines()
    assert lines[0] == "[+]ping ok"
    assert lines[-1] == f"{endpoint} check passed"
    assert client.get(f"/{endpoint}/ping").text == "ok"
    assert client.get(f"/{endpoint}/nothing").status_code == 404


DEEP = '{"a":' * 5000 + "1" + "}" * 5000


@pytest.mark.parametrize(
    ("body", "media", "expected"),
    [
        pytest.param(b"{", "application/json", (400, "BadRequest: the object provided is unrec"), id="half of JSON"),
        pytest.param(b"\xff\xfe", "application/json", (400, "BadRequest: the object provided is unrec"), id="bytes"),
        pytest.param(b"a: [b", "application/yaml", (400, "BadRequest: the object provided is unrec"), id="bad YAML"),
        pytest.param(b"k8s\x00\xff", "application/vnd.kubernetes.protobuf", (400, "BadRequest: "), id="bad protobuf"),
        pytest.param(b"x", "text/plain", (415, "UnsupportedMediaType: the body of the request"), id="plain text"),
        pytest.param(DEEP.encode(), "application/json", (400, "BadRequest: "), id="nested without end"),
        pytest.param(b"[" * 90_000, "application/json", (400, "BadRequest: "), id="brackets only"),
        pytest.param(b"[]", "application/json", (400, "BadRequest: the object provided is unrec"), id="a list"),
        pytest.param(
            b'{"kind":"Secret","apiVersion":"v1"}', "application/json",
            (400, 'BadRequest: Secret in version "v1" cannot be handled as a ConfigMap'), id="another kind",
        ),
        pytest.param(
            b'{"kind":[],"apiVersion":"v1"}', "application/json",
            (400, "BadRequest: the object provided is unrecognized (must be of type ConfigMap): couldn't get"),
            id="a kind that is no word",
        ),
        pytest.param(
            b'{"metadata":{"name":"x"},"data":{"k":1}}', "application/json",
            (400, 'BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal'),
            id="a number for a string",
        ),
        pytest.param(
            b'{"metadata":{"name":"A_b"}}', "application/json",
            (422, 'Invalid: ConfigMap "A_b" is invalid: metadata.name'), id="a bad name",
        ),
        pytest.param(b"x" * (3 * 1024 * 1024 + 1), "application/json", (413, "RequestEntityTooLarge"), id="3 MB"),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused(
    client: httpx.Client, body: bytes, media: str, expected: tuple[int, str]
) -> None:
    code, text = said(client.post(MAPS, content=body, headers={"Content-Type": media}))
    assert (code, text[: len(expected[1])]) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "?labelSelector=a in b", (400, "BadRequest: unable to parse requirement"), id="label selector"
        ),
        pytest.param(
            "?fieldSelector=data.k=1", (400, 'BadRequest: "data.k" is not a known field'), id="field"
        ),
        pytest.param("?limit=two", (400, "BadRequest: strconv.ParseInt"), id="limit"),
        pytest.param("?limit=1&continue=abc", (400, "BadRequest: invalid continue token"), id="token"),
        pytest.param("?resourceVersion=x", (500, ": resourceVersion: Invalid value"), id="version"),
        pytest.param(
            "?resourceVersion=1&resourceVersionMatch=Exact", (410, "Expired: "), id="a trimmed version"
        ),
        pytest.param("/a/log", (404, "NotFound: the server could not find"), id="a subresource"),
        pytest.param("/nosuch", (404, 'NotFound: configmaps "nosuch" not found'), id="an object"),
    ],
)
def test_bad_questions_are_refused(client: httpx.Client, path: str, expected: tuple[int, str]) -> None:
    code, text = said(client.get(MAPS + path))
    assert (code, text[: len(expected[1])]) == expected


@pytest.mark.parametrize(
    "path",
    [
        "/apis/batch/v1/jobs", "/apis/apps/v1/statefulsets", "/apis/apps/v1/daemonsets",
        "/api/v1/persistentvolumes", "/apis/autoscaling/v2/horizontalpodautoscalers",
    ],
)  # fmt: skip
def test_kinds_that_are_not_served_are_a_clear_404(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"metadata": 3}, id="metadata that is a number"),
        pytest.param({"metadata": "x", "kind": []}, id="metadata and kind that are neither"),
        pytest.param({"spec": {"containers": None}}, id="no containers any more"),
        pytest.param({"spec": None}, id="no spec any more"),
    ],
)
def test_patches_that_break_the_object_are_invalid(client: httpx.Client, patch: dict[str, Any]) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "broken"}, "spec": spec}
    client.post("/api/v1/namespaces/default/pods", json=pod)
    headers = {"Content-Type": "application/merge-patch+json"}
    answer = client.patch("/api/v1/namespaces/default/pods/broken", json=patch, headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")


def test_a_stale_write_is_a_conflict_and_a_no_op_is_none(client: httpx.Client) -> None:
    made = client.post(MAPS, json=config_map("stale", k="1")).json()
    again = client.put(f"{MAPS}/stale", json=made).json()
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    client.put(f"{MAPS}/stale", json=config_map("stale", k="2"))
    assert said(client.put(f"{MAPS}/stale", json=made))[0] == 409


def test_a_dry_run_changes_nothing(client: httpx.Client) -> None:
    answer = client.post(f"{MAPS}?dryRun=All", json=config_map("dry", k="1"))
    assert answer.status_code == 201
    assert "resourceVersion" not in answer.json()["metadata"]
    assert client.get(f"{MAPS}/dry").status_code == 404


def test_pages_fit_together_whatever_is_written_in_between(client: httpx.Client) -> None:
    for index in range(5):
        client.post(MAPS, json=config_map(f"page-{index}", k="1"))
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = client.get(MAPS, params=query).json()
        seen += [item["metadata"]["name"] for item in page["items"]]
        client.post(MAPS, json=config_map(f"page-1-{len(seen)}", k="1"))
        if not page["metadata"].get("continue"):
            break
        query["continue"] = page["metadata"]["continue"]
    paged = [name for name in seen if name.startswith("page")]
    assert paged == [f"page-{index}" for index in range(5)]


def test_aggregated_discovery_names_what_is_served(client: httpx.Client) -> None:
    media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = client.get("/apis", headers={"Accept": media})
    assert answer.headers["Content-Type"] == media
    apps = next(i for i in answer.json()["items"] if i["metadata"]["name"] == "apps")
    assert [r["resource"] for r in apps["versions"][0]["resources"]] == ["deployments", "replicasets"]


def test_openapi_lets_kubectl_leave_validation_to_the_server(client: httpx.Client) -> None:
    index = json.loads(client.get("/openapi/v3").text)["paths"]
    document = client.get(index["api/v1"]["serverRelativeURL"]).json()
    patch = document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert "fieldValidation" in [p["name"] for p in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "ConfigMap"


def test_a_reader_that_pauses_misses_nothing(cluster: EmbeddedCluster) -> None:
    host, _, port = cluster.url.removeprefix("https://").rpartition(":")
    with cluster.client() as client:
        made = client.post(MAPS, json=config_map("paused", k="x")).json()
        head = (
            f"GET {MAPS}?watch=true&timeoutSeconds=60&resourceVersion={made['metadata']['resourceVersion']}"
        )
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect((host, int(port)))
        with cluster.context().wrap_socket(plain, server_hostname=host) as stream:
            stream.sendall(f"{head} HTTP/1.1\r\nHost: api\r\n\r\n".encode())
            assert stream.recv(1)
            for number in range(100):
                patch = {"data": {"k": f"<{number}>", "fill": "y" * 50_000}}
                client.patch(f"{MAPS}/paused", json=patch, headers={"Content-Type": MERGE})
            stream.settimeout(60)
            said = b""
            while b"<99>" not in said:
                said += stream.recv(1 << 20)
    assert re.findall(rb'"k":"<(\d+)>"', said) == [str(n).encode() for n in range(100)]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"FROB / HTTP/1.1\r\nHost: a\r\n\r\n", id="a method nobody knows"),
        pytest.param(b"\x00\xff\r\n\r\n", id="no HTTP at all"),
        pytest.param(b"GET / HTTP/1.1\r\nbad header\r\n\r\n", id="a header that is none"),
        pytest.param(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", id="a line without end"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", id="two lengths"
        ),
    ],
)
def test_what_is_no_request_is_answered_and_leaves_no_trace(cluster: EmbeddedCluster, sent: bytes) -> None:
    host, _, port = cluster.url.removeprefix("https://").rpartition(":")
    with (
        socket.create_connection((host, int(port)), 60) as plain,
        cluster.context().wrap_socket(plain, server_hostname=host) as stream,
    ):
        stream.sendall(sent)
        assert stream.recv(4096).split()[1] == b"400"
    assert "Traceback" not in (cluster.folder / "log").read_text()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param('{"preconditions":-1}', "cannot unmarshal number into Go struct field", id="a number"),
        pytest.param(
            '{"kind":true}', "cannot unmarshal bool into Go struct field", id="a kind that is no word"
        ),
        pytest.param(
            '{"dryRun":"All"}', "cannot unmarshal string into Go struct field", id="a word for a list"
        ),
        pytest.param(
            '{"gracePeriodSeconds":"1"}', "cannot unmarshal string into Go", id="a word for a number"
        ),
        pytest.param("[]", "cannot unmarshal array into Go", id="a list"),
        pytest.param(
            '{"kind":"Gadget","apiVersion":"a/v1"}', 'no kind "Gadget" is registered', id="another kind"
        ),
    ],
)
def test_delete_options_that_are_none_are_refused(client: httpx.Client, body: str, message: str) -> None:
    client.post(MAPS, json=config_map("stays", k="v"))
    answer = client.request(
        "DELETE", f"{MAPS}/stays", content=body, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, message in answer.json()["message"]) == (500, True), answer.text
    assert client.get(f"{MAPS}/stays").status_code == 200


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        pytest.param(
            {"type": "array", "items": "x", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
            422, "items: Required value: must be specified", id="items that are a word",
        ),
        pytest.param(
            {"type": "array", "items": [{"type": "string"}]}, 422, "must be a schema object and not an array",
            id="items that are a list",
        ),
        pytest.param({"type": "object", "additionalProperties": 1}, 400, "boolean or JSON schema expected", id="a number"),
        pytest.param({"type": "object", "dependencies": {"a": 1}}, 422, "dependencies is not supported", id="dependencies"),
    ],
)  # fmt: skip
def test_schemas_that_are_none_are_refused(
    client: httpx.Client, spec: dict[str, Any], code: int, message: str
) -> None:
    document = definition("odds", "Odd", {"type": "object", "properties": {"spec": spec}})
    answer = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=document)
    assert (answer.status_code, message in answer.json()["message"]) == (code, True), answer.text
