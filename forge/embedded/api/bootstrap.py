"""What a new cluster holds: namespaces, the roles everybody builds on, and the API's own Service.

Made once, when the store is empty, and repaired on every start: what is missing comes back, what was
changed stays.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from forge.embedded.api import strategy
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.local import LocalClient
from forge.embedded.api.values import DELETED, Event, Json

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_MANAGER = "kube-apiserver"
_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_DISCOVERY = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
_OPENID = [
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
]


def _rule(group: str, resources: list[str], verbs: list[str]) -> Json:
    return {"verbs": verbs, "apiGroups": [group], "resources": resources}


_CORE = [
    "configmaps",
    "endpoints",
    "events",
    "pods",
    "pods/log",
    "pods/status",
    "serviceaccounts",
    "services",
    "services/status",
]
_APPS = [
    "deployments",
    "deployments/scale",
    "deployments/status",
    "replicasets",
    "replicasets/scale",
    "replicasets/status",
]


def _view() -> list[Json]:
    return [
        _rule("", [*_CORE, "namespaces", "namespaces/status"], _READ),
        _rule("discovery.k8s.io", ["endpointslices"], _READ),
        _rule("apps", _APPS, _READ),
        _rule("networking.k8s.io", ["networkpolicies"], _READ),
    ]


def _edit() -> list[Json]:
    core = ["configmaps", "events", "pods", "secrets", "serviceaccounts", "services"]
    return [
        *_view(),
        _rule("", ["secrets"], _READ),
        _rule("", ["serviceaccounts"], ["impersonate"]),
        _rule("", core, _WRITE),
        _rule("", ["serviceaccounts/token"], ["create"]),
        _rule("apps", ["deployments", "deployments/scale", "replicasets", "replicasets/scale"], _WRITE),
        _rule("networking.k8s.io", ["networkpolicies"], _WRITE),
        _rule("coordination.k8s.io", ["leases"], [*_READ, *_WRITE]),
    ]


def _roles() -> dict[str, list[Json]]:
    everything = [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
    return {
        "cluster-admin": everything,
        "admin": [
            *_edit(),
            _rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
            _rule(_RBAC, ["rolebindings", "roles"], [*_READ, *_WRITE]),
        ],
        "edit": _edit(),
        "view": _view(),
        "system:basic-user": [
            _rule(
                "authorization.k8s.io", ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]
            ),
            _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
        ],
        "system:discovery": [{"verbs": ["get"], "nonResourceURLs": _DISCOVERY}],
        "system:public-info-viewer": [
            {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]}
        ],
        "system:service-account-issuer-discovery": [{"verbs": ["get"], "nonResourceURLs": _OPENID}],
    }


_BINDINGS = {
    "cluster-admin": ("system:masters",),
    "system:basic-user": ("system:authenticated",),
    "system:discovery": ("system:authenticated",),
    "system:public-info-viewer": ("system:authenticated", "system:unauthenticated"),
    "system:service-account-issuer-discovery": ("system:serviceaccounts",),
}


def ensure(cluster: Cluster) -> None:
    """Makes what is missing."""
    _ensure_roles(LocalClient(cluster, _MANAGER))
    keep(cluster)


def keep(cluster: Cluster) -> None:
    """Makes what is missing of that which comes back by itself; roles come back with the next start."""
    client = LocalClient(cluster, _MANAGER)
    namespaces = client.resource("namespaces")
    for name in NAMESPACES:
        if client.get(namespaces, name) is None:
            client.create(namespaces, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
    _ensure_service(cluster, client)
    _ensure_endpoints(cluster, client)


@dataclass(slots=True)
class Keeper:
    """Puts back what a cluster is not itself without, after somebody deleted it."""

    cluster: Cluster
    name: str = "bootstrap-keeper"
    settle_s: float = 0.0

    def wants(self, event: Event) -> bool:
        key = event.record.key
        own = key.resource == "namespaces" or key.name == "kubernetes"
        return own and event.type == DELETED

    def step(self) -> float | None:
        keep(self.cluster)
        return None


def _ensure_roles(client: LocalClient) -> None:
    roles, bindings = client.resource("clusterroles", _RBAC), client.resource("clusterrolebindings", _RBAC)
    for name, rules in _roles().items():
        if client.get(roles, name) is None:
            client.create(roles, _labelled("ClusterRole", name) | {"rules": rules})
    for name, groups in _BINDINGS.items():
        if client.get(bindings, name) is None:
            subjects = [{"kind": "Group", "apiGroup": _RBAC, "name": group} for group in groups]
            ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
            client.create(
                bindings, _labelled("ClusterRoleBinding", name) | {"subjects": subjects, "roleRef": ref}
            )


def _labelled(kind: str, name: str) -> Json:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    meta = {
        "name": name,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {"kind": kind, "apiVersion": f"{_RBAC}/v1", "metadata": meta}


def _ensure_service(cluster: Cluster, client: LocalClient) -> None:
    """The `kubernetes` Service: the first address of the range, where pods find the API."""
    services = client.resource("services")
    if client.get(services, "kubernetes", "default") is not None:
        return
    address = str(next(ipaddress.ip_network(cluster.service_cidr).hosts()))
    port = int(cluster.address.rsplit(":", 1)[1])
    spec: Json = {
        "clusterIP": address,
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
    }
    meta: Json = {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}}
    document: Json = {"kind": "Service", "apiVersion": "v1", "metadata": meta, "spec": spec}
    strategy.of(services).default(document)
    client.create(services, document, "default")


def _ensure_endpoints(cluster: Cluster, client: LocalClient) -> None:
    """Where the `kubernetes` Service leads: this server, at the address of this start."""
    slices = client.resource("endpointslices", "discovery.k8s.io")
    host, port = cluster.address.rsplit(":", 1)
    wanted: Json = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "protocol": "TCP", "port": int(port)}],
    }
    wanted["metadata"]["labels"] = {"kubernetes.io/service-name": "kubernetes"}
    if client.get(slices, "kubernetes", "default") is None:
        client.create(slices, wanted, "default")
    else:
        patch = {part: wanted[part] for part in ("endpoints", "ports")}
        client.patch(slices, "kubernetes", patch, "default")
