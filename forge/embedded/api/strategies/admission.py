"""What a new pod is given: its account, the volume it reaches the API through, tolerations, a class."""

from __future__ import annotations

from forge.embedded.api import status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.values import Json, Key

_DEFAULT_MODE = 420
_TOKEN_S = 3607
_ACCESS_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def need_account(cluster: Cluster, document: Json) -> None:
    """Raises 403 for an account that is not there: its token could not be made."""
    namespace, name = document["metadata"].get("namespace", ""), document["spec"]["serviceAccountName"]
    if cluster.store.get(Key("serviceaccounts", namespace, name)) is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise status.forbidden("", "pods", document["metadata"].get("name", ""), why)


def mount_access(cluster: Cluster, spec: Json) -> None:
    """The volume through which a pod reaches the API, unless it wants none."""
    if spec.get("automountServiceAccountToken") is False:
        return
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    bare = [
        c
        for c in containers
        if not any(m.get("mountPath") == _ACCESS_PATH for m in c.get("volumeMounts") or [])
    ]
    if not bare:
        return
    name = f"kube-api-access-{cluster.suffix()}"
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_S, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                ]
            }
        },
    ]
    volume = {"name": name, "projected": {"sources": sources, "defaultMode": _DEFAULT_MODE}}
    spec["volumes"] = [*(spec.get("volumes") or []), volume]
    for container in bare:
        mount = {"name": name, "readOnly": True, "mountPath": _ACCESS_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]


def tolerate(spec: Json) -> None:
    present = {(t.get("key"), t.get("effect")) for t in spec.get("tolerations") or []}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if (key, "NoExecute") not in present and (key, None) not in present and (None, None) not in present:
            added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            spec["tolerations"] = [*(spec.get("tolerations") or []), added]


def quality(spec: Json) -> str:
    """The QoS class of a pod."""
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    resources = [c.get("resources") or {} for c in containers]
    if not any(r.get("limits") or r.get("requests") for r in resources):
        return "BestEffort"
    both = ("cpu", "memory")
    whole = all(
        set(both) <= set(r.get("limits") or {})
        and all((r.get("requests") or {}).get(k) == (r.get("limits") or {})[k] for k in both)
        for r in resources
    )
    return "Guaranteed" if whole else "Burstable"
