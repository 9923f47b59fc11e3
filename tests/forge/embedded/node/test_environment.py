"""The environment of a container: references, order, and what is missing said in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.node.environment import Environment, environment, expand, of_services

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"app": "web"}},
    "spec": {"nodeName": "lab", "containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}]},
    "status": {"podIP": "127.1.0.2", "podIPs": [{"ip": "127.1.0.2"}]},
}
OBJECTS = {
    ("configMap", "conf"): {"data": {"a": "1", "b": "2"}},
    ("secret", "sec"): {"data": {"pw": "czNjcmV0"}},
}


def made(*env: dict[str, Any], services: dict[str, str] | None = None, **container: Any) -> Environment:
    whole = {"name": "c", "env": list(env), **container}
    lookup = lambda kind, name: OBJECTS.get((kind, name))  # noqa: E731 - a table as a function
    return environment(whole, POD, services or {}, lookup, {"cpu": "4", "memory": "2048Ki"})


def ref(kind: str, **reference: Any) -> dict[str, Any]:
    return {"name": "X", "valueFrom": {kind: reference}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)-$(B)", "1-$(B)", id="known names only"),
        pytest.param("$$(A) $$ $", "$(A) $ $", id="two dollars are one"),
        pytest.param("$(A", "$(A", id="half a reference is text"),
    ],
)
def test_references_in_text(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(ref("fieldRef", fieldPath="status.podIP"), "127.1.0.2", id="the pod's address"),
        pytest.param(ref("fieldRef", fieldPath="metadata.labels['app']"), "web", id="one label"),
        pytest.param(ref("fieldRef", fieldPath="metadata.labels['none']"), "", id="a label it has not"),
        pytest.param(ref("configMapKeyRef", name="conf", key="a"), "1", id="a key of a ConfigMap"),
        pytest.param(ref("secretKeyRef", name="sec", key="pw"), "s3cret", id="a key of a Secret, decoded"),
        pytest.param(ref("resourceFieldRef", resource="limits.cpu"), "1", id="its own limit, rounded up"),
        pytest.param(
            ref("resourceFieldRef", resource="limits.cpu", divisor="1m"), "500", id="its limit in thousandths"
        ),
        pytest.param(
            ref("resourceFieldRef", resource="limits.memory", divisor="1Mi"),
            "2",
            id="the node's, without a limit",
        ),
    ],
)
def test_a_value_from(entry: dict[str, Any], expected: str) -> None:
    assert made(entry).values["X"] == expected


@pytest.mark.parametrize(
    ("container", "problem"),
    [
        pytest.param(
            {"env": [ref("configMapKeyRef", name="no", key="k")]}, 'configmap "no" not found', id="ConfigMap"
        ),
        pytest.param(
            {"env": [ref("secretKeyRef", name="sec", key="k")]},
            "couldn't find key k in Secret ns/sec",
            id="key",
        ),
        pytest.param(
            {"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found', id="whole Secret"
        ),
        pytest.param(
            {"env": [ref("fieldRef", fieldPath="spec.x")]},
            "field label not supported: spec.x",
            id="unknown field",
        ),
        pytest.param(
            {"env": [ref("configMapKeyRef", name="no", key="k", optional=True)]}, "", id="optional key"
        ),
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "no", "optional": True}}]}, "", id="optional ConfigMap"
        ),
    ],
)
def test_what_is_missing(container: dict[str, Any], problem: str) -> None:
    assert made(**container).problem == problem


def test_later_words_win_and_see_what_was_said_before() -> None:
    env = [{"name": "a", "value": "mine"}, {"name": "C", "value": "$(a)/$(P_b)/$(LATER)"}, {"name": "LATER"}]
    sources = [{"configMapRef": {"name": "conf"}}, {"prefix": "P_", "configMapRef": {"name": "conf"}}]
    assert made(*env, envFrom=sources, services={"a": "service"}).values == {
        "a": "mine",
        "b": "2",
        "P_a": "1",
        "P_b": "2",
        "C": "mine/2/$(LATER)",
        "LATER": "",
    }


def service(name: str, namespace: str, address: str, *ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterIP": address, "ports": list(ports)},
    }


MASTER = service("kubernetes", "default", "127.96.0.1", {"name": "https", "port": 443})


def test_services_are_told_as_kubernetes_tells_them() -> None:
    web = service("my-web", "ns", "127.96.0.9", {"name": "h-1", "port": 80}, {"port": 53, "protocol": "UDP"})
    headless, other = service("h", "ns", "None", {"port": 1}), service("o", "else", "127.96.0.8", {"port": 1})
    assert of_services([web, headless, other], "ns", links=True) == {
        "MY_WEB_SERVICE_HOST": "127.96.0.9",
        "MY_WEB_SERVICE_PORT": "80",
        "MY_WEB_SERVICE_PORT_H_1": "80",
        "MY_WEB_PORT": "tcp://127.96.0.9:80",
        "MY_WEB_PORT_80_TCP": "tcp://127.96.0.9:80",
        "MY_WEB_PORT_80_TCP_PROTO": "tcp",
        "MY_WEB_PORT_80_TCP_PORT": "80",
        "MY_WEB_PORT_80_TCP_ADDR": "127.96.0.9",
        "MY_WEB_PORT_53_UDP": "udp://127.96.0.9:53",
        "MY_WEB_PORT_53_UDP_PROTO": "udp",
        "MY_WEB_PORT_53_UDP_PORT": "53",
        "MY_WEB_PORT_53_UDP_ADDR": "127.96.0.9",
    }


def test_the_api_is_told_to_all_and_the_rest_only_where_wanted() -> None:
    web = service("web", "ns", "127.96.0.9", {"port": 80})
    without = of_services([MASTER, web], "ns", links=False)
    assert {key.split("_")[0] for key in without} == {"KUBERNETES"}
    assert "WEB_SERVICE_HOST" in of_services([MASTER, web], "ns", links=True)
