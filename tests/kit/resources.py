"""Resources as the API gives them: minimal by default, with what a test is about added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def resource(kind: str, name: str, spec: Mapping[str, Any], **changes: Any) -> Json:
    """*changes*: labels, status, generation and what else of metadata."""
    status = changes.pop("status", None)
    metadata = {"name": name, "uid": f"uid-{name}", "generation": 1, "resourceVersion": "1", **changes}
    found: Json = {
        "apiVersion": "grid.praxis-proxy.io/v1alpha1",
        "kind": kind,
        "metadata": metadata,
        "spec": dict(spec),
    }
    return found if status is None else {**found, "status": status}


def network(name: str = "production", *gateways: Json, **spec: Any) -> Json:
    return resource("GridNetwork", name, {"gatewayRefs": list(gateways), **spec})


def gateway(name: str = "edge-us-east", **changes: Any) -> Json:
    return {"name": name, "namespace": "grid-system", "localSiteName": name, **changes}


def site(name: str, region: str = "us-east", role: str = "provider", **spec: Any) -> Json:
    metadata = {field: spec.pop(field) for field in ("labels", "status", "generation") if field in spec}
    return resource(
        "GridSite", name, {"gridNetworkRef": "production", "region": region, "role": role, **spec}, **metadata
    )


def provider(name: str = "sim-a", *models: str, **spec: Any) -> Json:
    metadata = {field: spec.pop(field) for field in ("labels", "status", "generation") if field in spec}
    return resource(
        "InferenceProvider",
        name,
        {
            "gridNetworkRef": "production",
            "providerKind": "self_hosted",
            "backendKind": "local",
            "endpoint": f"http://{name}:8000",
            "models": [{"name": model} for model in models or ("shared-model",)],
            **spec,
        },
        **metadata,
    )
