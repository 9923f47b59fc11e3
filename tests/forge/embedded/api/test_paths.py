"""Every path has one reading, and it is Kubernetes'."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.paths import Target, parse


def said(target: Target) -> str:
    if not target.is_resource:
        return f"{target.verb} path {target.path}"
    parts = [target.verb, target.group or "core", target.version, target.resource]
    parts += [f"in={target.namespace}"] if target.namespace else []
    parts += [f"name={target.name}"] if target.name else []
    return " ".join([*parts, target.subresource] if target.subresource else parts)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", "/api/v1/pods", "list core v1 pods", id="all namespaces"),
        pytest.param("GET", "/api/v1/namespaces/a/pods", "list core v1 pods in=a", id="one namespace"),
        pytest.param("GET", "/api/v1/namespaces/a/pods/", "list core v1 pods in=a", id="a trailing slash"),
        pytest.param("GET", "/api/v1/namespaces", "list core v1 namespaces", id="namespaces themselves"),
        pytest.param(
            "GET", "/api/v1/namespaces/a", "get core v1 namespaces in=a name=a", id="one namespace itself"
        ),
        pytest.param(
            "PUT", "/api/v1/namespaces/a/finalize", "update core v1 namespaces in=a name=a finalize", id="finalize"
        ),
        pytest.param(
            "PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "patch apps v1 deployments in=a name=d scale", id="a subresource",
        ),
        pytest.param(
            "DELETE", "/apis/g.test/v1/namespaces/a/things", "deletecollection g.test v1 things in=a", id="collection"
        ),
        pytest.param("GET", "/apis/g.test/v1/watch/things", "watch g.test v1 things", id="the old watch path"),
        pytest.param("GET", "/api/v1//pods", "get path /api/v1//pods", id="a doubled slash is no resource"),
        pytest.param("GET", "/apis/g.test/v1", "get path /apis/g.test/v1", id="discovery"),
        pytest.param("GET", "/api/v1/pods%2Fa", "get core v1 pods name=a", id="percent encoding is read first"),
    ],
)  # fmt: skip
def test_reading(method: str, path: str, expected: str) -> None:
    assert said(parse(method, path)) == expected


@given(st.sampled_from(["GET", "POST", "OPTIONS"]), st.text(max_size=60))
def test_any_path_is_read(method: str, path: str) -> None:
    assert parse(method, path).path is not None
