"""An API that is busy, half there or hostile: what may pass is asked again, all else is said at once."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forge.errors import OperationFailed
from forge.host.kube import access
from forge.host.kube.client import ApiKube
from forge.host.kube.patience import Patience, may_pass
from forge.host.kube.transport import Reply, Transport
from forge.plan.lab_ports import ObjectRef
from tests.kit.kube_contract import OWNER, apply, delete, thing, widget_definition
from tests.kit.scripted_api import ScriptedApi, failure, scripted

NOTHING_THERE = failure(404, "not found", "NotFound")
WEBHOOK = 'Internal error occurred: failed calling webhook "v.metallb.io": connect: connection refused'


@contextmanager
def speaking(script: Any, token: str = "") -> Iterator[tuple[ApiKube, ScriptedApi]]:
    with scripted(script) as api:
        credentials = access.Credentials(api.url, ssl.create_default_context(), token)
        kube = ApiKube("east", Transport(lambda: credentials))
        try:
            yield kube, api
        finally:
            kube.close()


def accepting(body: Any) -> tuple[int, Any]:
    return 200, {**body, "metadata": {**body["metadata"], "uid": "u1", "generation": 1}}


def sent(api: ScriptedApi) -> list[str]:
    """What was to change something."""
    return [line for line in api.asked if not line.startswith("GET")]


def refusing(times: int, *refusal: Any) -> Any:
    """A script that refuses so many times, then takes everything."""
    left = [times]

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            return NOTHING_THERE
        left[0] -= 1
        return failure(*refusal) if left[0] >= 0 else accepting(body)

    return script


@pytest.mark.parametrize(
    ("times", "refusal"),
    [
        pytest.param(4, (500, WEBHOOK), id="webhook that comes up"),
        pytest.param(2, (429, "too many requests", "TooManyRequests"), id="too busy"),
        pytest.param(2, (503, "starting", "ServiceUnavailable"), id="starting"),
        pytest.param(2, (409, "the object has been modified", "Conflict"), id="somebody else wrote"),
        pytest.param(2, (403, "because it is being terminated", "Forbidden"), id="namespace on its way out"),
    ],
)
def test_a_refusal_that_passes_is_borne(times: int, refusal: tuple[Any, ...]) -> None:
    with speaking(refusing(times, *refusal)) as (kube, api):
        (ref,) = apply(kube, thing("ConfigMap", "a"))
        assert (ref.uid, len(sent(api))) == ("u1", times + 1)


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        pytest.param((422, "data: Invalid value", "Invalid"), "FG0735", id="invalid"),
        pytest.param(
            (400, 'admission webhook "x" denied the request: no', "BadRequest"),
            "FG0735",
            id="denied by a webhook",
        ),
        pytest.param(
            (500, "failed to create typed patch object: .spec.x: field not declared in schema"),
            "FG0735",
            id="no such field",
        ),
        pytest.param((404, 'namespaces "x" not found', "NotFound"), "FG0735", id="no namespace"),
        pytest.param((401, "Unauthorized", "Unauthorized"), "FG0755", id="token expired"),
        pytest.param((403, 'User "x" cannot patch resource', "Forbidden"), "FG0755", id="not allowed"),
    ],
)
def test_a_refusal_that_stays_is_said_at_once(refusal: tuple[Any, ...], code: str) -> None:
    with speaking(refusing(1000, *refusal)) as (kube, api):
        with pytest.raises(OperationFailed) as caught:
            apply(kube, thing("ConfigMap", "a", "shop"), places=["cm.yaml, document 1"])
        assert (caught.value.code, caught.value.may_pass, len(sent(api))) == (code, False, 1)
        assert caught.value.why == refusal[1]
        assert "ConfigMap shop/a" in caught.value.what


def test_a_cancel_ends_the_waiting_for_a_webhook() -> None:
    cancel = threading.Event()

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            return NOTHING_THERE
        cancel.set()
        return failure(500, WEBHOOK)

    with (
        speaking(script) as (kube, _),
        pytest.raises(Exception, match="apply ConfigMap default/a in cluster east was stopped"),
    ):
        kube.apply([thing("ConfigMap", "a")], owner=OWNER, progress=lambda _: None, cancel=cancel)


def test_a_cancel_ends_a_request_that_is_not_answered() -> None:
    cancel, release = threading.Event(), threading.Event()

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            return NOTHING_THERE
        cancel.set()
        release.wait(60)
        return accepting(body)

    with speaking(script) as (kube, _):
        with pytest.raises(Exception, match="was stopped"):
            kube.apply([thing("ConfigMap", "a")], owner=OWNER, progress=lambda _: None, cancel=cancel)
        release.set()


def test_a_token_goes_along_and_never_into_an_error() -> None:
    with speaking(refusing(1000, 401, "Unauthorized"), token="s3cret") as (kube, api):
        with pytest.raises(OperationFailed) as caught:
            apply(kube, thing("ConfigMap", "a"))
        assert api.headers[0]["Authorization"] == "Bearer s3cret"
        assert "s3cret" not in repr(vars(caught.value))


@pytest.mark.parametrize("said", [b"<html>", b"[]", b""])
def test_what_is_no_api_is_said(said: bytes) -> None:
    with (
        speaking(lambda *_: (200, said)) as (kube, _),
        pytest.raises(OperationFailed, match="something else than JSON"),
    ):
        kube.get("v1", "ConfigMap", "default", "a")


def test_old_servers_are_asked_group_by_group() -> None:
    answers = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [
                {"name": "x.io", "versions": [{"groupVersion": "x.io/v1"}]},
                {"name": "down.io", "versions": [{"groupVersion": "down.io/v1"}]},
            ],
        },
        "/api/v1": {
            "resources": [
                {"name": "pods", "kind": "Pod", "namespaced": True},
                {"name": "pods/log", "kind": "Pod"},
            ]
        },
        "/apis/x.io/v1": {
            "resources": [{"name": "things", "kind": "Thing", "shortNames": ["th"], "namespaced": False}]
        },
        "/apis/x.io/v1/things/one": {"metadata": {"name": "one"}},
    }

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        return (200, answers[path]) if path in answers else failure(404, "no", "NotFound")

    with speaking(script) as (kube, _):
        assert kube.find("th/one", None) == (
            {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "one"}},
        )


def test_a_version_that_is_not_served_is_told_with_the_one_that_is() -> None:
    resources = [{"resource": "things", "responseKind": {"kind": "Thing"}, "scope": "Cluster"}]
    group = {"metadata": {"name": "x.io"}, "versions": [{"version": "v2", "resources": resources}]}

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        return 200, {"kind": "APIGroupDiscoveryList", "items": [group] if path == "/apis" else []}

    with speaking(script) as (kube, _), pytest.raises(OperationFailed) as caught:
        apply(kube, thing("Thing", "one", api_version="x.io/v1"))
    assert caught.value.hint == "the cluster serves it as x.io/v2: change the apiVersion"


def test_a_list_is_read_page_by_page() -> None:
    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        more = "continue=next" not in path
        name = "a" if more else "b"
        return 200, {
            "metadata": {"continue": "next" if more else ""},
            "items": [{"metadata": {"name": name}}],
        }

    with speaking(script) as (kube, _):
        assert [one["metadata"]["name"] for one in kube.find("cm", "shop")] == ["a", "b"]


def test_a_watch_that_is_told_its_version_is_gone_looks_again() -> None:
    versions = iter(range(10, 1000))
    gone = json.dumps({"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}).encode() + b"\n"

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if "watch=true" in path:
            return 200, gone
        return 200, {"metadata": {"name": "a", "resourceVersion": str(next(versions))}}

    with speaking(script) as (kube, _):
        cancel = threading.Event()
        seen = kube.watch("v1", "ConfigMap", "shop", "a", cancel=cancel, timeout_s=60)
        assert [(next(seen) or {})["metadata"]["resourceVersion"] for _ in range(3)] == ["10", "11", "12"]
        cancel.set()


def test_an_object_that_is_held_is_waited_for_until_cancelled() -> None:
    cancel = threading.Event()
    asked = []

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        asked.append(method)
        if len(asked) > 4:
            cancel.set()
        return 200, {"metadata": {"name": "a", "uid": "u1", "finalizers": ["x.io/held"]}}

    with (
        speaking(script) as (kube, _),
        pytest.raises(Exception, match="delete ConfigMap shop/a in cluster east was stopped"),
    ):
        kube.delete([ObjectRef("v1", "ConfigMap", "shop", "a")], cancel=cancel)


@pytest.mark.parametrize(
    ("status", "reason", "message", "passes"),
    [
        (500, "InternalError", WEBHOOK, True),
        (409, "Conflict", "Precondition failed: UID", False),
        (404, "NotFound", "x", False),
        (504, "", "x", True),
        (422, "Invalid", "x", False),
    ],
)
def test_what_may_pass(status: int, reason: str, message: str, passes: bool) -> None:
    body = json.dumps({"reason": reason, "message": message}).encode()
    assert may_pass(Reply(status, body)) is passes


def test_patience_ends() -> None:
    assert Patience(0.0).pause(1) is False
    cancelled = threading.Event()
    cancelled.set()
    assert Patience(60.0, cancelled).pause(1) is False


KUBECONFIG = """
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: c, user: program}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: u, user: {token: t}}, {name: program, user: {exec: {command: aws}}}]
"""


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        pytest.param("{", "a", "no YAML", id="no YAML"),
        pytest.param("- a", "a", "it is no kubeconfig", id="a list"),
        pytest.param(KUBECONFIG, "z", "no context 'z'", id="no such context"),
        pytest.param(
            KUBECONFIG.replace("exec", "auth-provider"),
            "b",
            "has auth-provider, which Kubernetes has dropped",
            id="an old auth provider",
        ),
        pytest.param(
            KUBECONFIG.replace("token: t", "token: 't t'"),
            "a",
            "characters that no token has",
            id="a token with a blank",
        ),
        pytest.param(KUBECONFIG.replace("https:", "ftp:"), "a", "no address", id="no address"),
        pytest.param(
            KUBECONFIG.replace("server:", "certificate-authority-data: '***', server:"),
            "a",
            "base64",
            id="authority that is none",
        ),
        pytest.param(
            KUBECONFIG.replace("cluster: c", "cluster: d"), "a", "no cluster 'd'", id="no such cluster"
        ),
    ],
)
def test_an_access_file_that_cannot_be_used_is_refused(
    tmp_path: Path, text: str, context: str, why: str
) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(OperationFailed) as caught:
        access.read(file, context)
    assert caught.value.code == "FG0751"
    assert why in caught.value.why


def test_the_current_context_is_taken_where_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    assert access.read(file, "").token == "t"


def test_a_missing_access_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match="FG0751"):
        access.read(tmp_path / "none", "a")


def test_deleting_asks_for_that_very_object() -> None:
    bodies = []

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "DELETE":
            bodies.append(body)
        found = {"metadata": {"name": "a", "uid": "u1"}}
        return (200, found) if not bodies else failure(404, "gone", "NotFound")

    with speaking(script) as (kube, _):
        assert len(delete(kube, ObjectRef("v1", "ConfigMap", "shop", "a"))) == 1
    assert bodies[0]["preconditions"] == {"uid": "u1"}
    assert bodies[0]["propagationPolicy"] == "Background"


def test_a_kind_that_is_established_and_not_served_everywhere_yet_is_sent_again() -> None:
    definition = widget_definition()
    refusals = [3]
    resources = [{"resource": "widgets", "responseKind": {"kind": "Widget"}, "scope": "Namespaced"}]
    group = {"metadata": {"name": "lab.test"}, "versions": [{"version": "v1", "resources": resources}]}
    established = {"conditions": [{"type": "Established", "status": "True"}]}

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if path in ("/api", "/apis"):
            return 200, {"kind": "APIGroupDiscoveryList", "items": [group] if path == "/apis" else []}
        if method == "GET":
            there = sent(api) and "customresourcedefinitions" in path
            return (200, {**definition, "status": established}) if there else NOTHING_THERE
        if "/widgets/" in path and refusals[0]:
            refusals[0] -= 1
            return 404, b"404 page not found"
        return accepting(body)

    with speaking(script) as (kube, api):
        refs = apply(kube, definition, thing("Widget", "w", "shop", "lab.test/v1"))
        assert [r.kind for r in refs] == ["CustomResourceDefinition", "Widget"]
        assert sum("/widgets/" in line for line in sent(api)) == 4
