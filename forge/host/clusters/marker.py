"""Whose a cluster is, as the cluster itself says: the ConfigMap kube-system/forge-owner.

It also tells the cluster's id, so that one request answers both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forge.errors import OperationFailed
from forge.host.clusters.api import Api
from forge.plan.values import Owner

NAME = "forge-owner"
_MAPS = "/api/v1/namespaces/kube-system/configmaps"


@dataclass(frozen=True, slots=True)
class Marker:
    """id: uid of the cluster's kube-system namespace."""

    owner: Owner
    fingerprint: str
    id: str


def read(api: Api, timeout_s: float = 5.0) -> Marker | None:
    """The marker, None where the cluster has none. Raises Silent, Stranger."""
    status, found = api.get(f"{_MAPS}/{NAME}", timeout_s)
    data = (found or {}).get("data") or {} if status == 200 else {}
    if not data.get("environment-id"):
        return None
    return Marker(
        Owner(data.get("environment", ""), data["environment-id"]),
        data.get("fingerprint", ""),
        data.get("cluster-id", ""),
    )


def write(api: Api, owner: Owner, fingerprint: str) -> str:
    """Marks the cluster; gives its id. Raises Silent, Stranger, OperationFailed."""
    identity = uid(api)
    body = _body(owner, fingerprint, identity)
    status, said = api.post(_MAPS, body)
    if status == 409:
        status, said = api.put(f"{_MAPS}/{NAME}", body)
    if status not in (200, 201):
        raise OperationFailed(
            "FG0703",
            "cannot mark the cluster as ours",
            why=f"its API answers {status}: {(said or {}).get('message', '')}",
            hint="run `praxis-forge up` again",
        )
    return identity


def uid(api: Api) -> str:
    """Of the kube-system namespace, empty while there is none. Raises Silent, Stranger."""
    status, found = api.get("/api/v1/namespaces/kube-system")
    return str(found["metadata"]["uid"]) if status == 200 else ""


def _body(owner: Owner, fingerprint: str, identity: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "namespace": "kube-system",
            "labels": {
                "dev.praxis.forge/managed": "true",
                "dev.praxis.forge/environment-id": owner.environment_id,
            },
        },
        "data": {
            "environment": owner.environment,
            "environment-id": owner.environment_id,
            "fingerprint": fingerprint,
            "cluster-id": identity,
        },
    }
