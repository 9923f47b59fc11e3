"""A served resource as a value: its names, verbs and subresources, and where its objects are kept.

What a kind means (defaults, rules, status) is its strategy's; how a custom one is described is in
`customs`. The same objects may be served under two resources (core and events.k8s.io Events, the
versions of a CRD): `storage` names what is shared.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forge.embedded.api import status

if TYPE_CHECKING:
    from forge.embedded.api.customs import CustomVersion

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)


@dataclass(frozen=True, slots=True)
class Subresource:
    """group and version are those of kind where it is not the parent's own (Scale, TokenRequest)."""

    name: str
    kind: str
    verbs: tuple[str, ...] = ("get", "patch", "update")
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource in one version. custom: set for those that a CRD defines."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    storage_group: str | None = None
    custom: CustomVersion | None = None

    @property
    def storage(self) -> str:
        """The name under which objects are kept: `plural.group`."""
        group = self.group if self.storage_group is None else self.storage_group
        return status.qualified(self.plural, group)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def lists(self) -> str:
        """The kind of a list."""
        return self.list_kind or f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)


def storage_hash(group: str, version: str, kind: str) -> str:
    """storageVersionHash, as the real server computes it."""
    if kind == "CustomResourceDefinition":
        # Stored in this version still, in 1.32.
        version = "v1beta1"
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _status(kind: str) -> Subresource:
    return Subresource("status", kind)


def _scale() -> Subresource:
    return Subresource("scale", "Scale", group="autoscaling", version="v1")


_TOKEN = Subresource("token", "TokenRequest", CREATE_ONLY, "authentication.k8s.io", "v1")
_NAMESPACE_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
_RBAC = "rbac.authorization.k8s.io"


def _reviews() -> tuple[Resource, ...]:
    authorization, authentication = "authorization.k8s.io", "authentication.k8s.io"
    rows = [
        (authorization, "LocalSubjectAccessReview", True),
        (authorization, "SelfSubjectAccessReview", False),
        (authorization, "SelfSubjectRulesReview", False),
        (authorization, "SubjectAccessReview", False),
        (authentication, "SelfSubjectReview", False),
        (authentication, "TokenReview", False),
    ]
    return tuple(
        Resource(group, "v1", kind.lower() + "s", kind, namespaced=namespaced, verbs=CREATE_ONLY)
        for group, kind, namespaced in rows
    )


BUILTIN: tuple[Resource, ...] = (
    Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    Resource("", "v1", "endpoints", "Endpoints", singular="endpoints", short_names=("ep",)),
    Resource("", "v1", "events", "Event", short_names=("ev",)),
    Resource(
        "", "v1", "namespaces", "Namespace", namespaced=False, short_names=("ns",), verbs=_NAMESPACE_VERBS,
        subresources=(Subresource("finalize", "Namespace", ("update",)), _status("Namespace")),
    ),
    Resource(
        "", "v1", "nodes", "Node", namespaced=False, short_names=("no",), subresources=(_status("Node"),),
    ),
    Resource(
        "", "v1", "pods", "Pod", short_names=("po",), categories=("all",),
        subresources=(Subresource("log", "Pod", ("get",)), _status("Pod")),
    ),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=(_TOKEN,)),
    Resource(
        "", "v1", "services", "Service", short_names=("svc",), categories=("all",),
        subresources=(_status("Service"),),
    ),
    Resource(
        "apps", "v1", "deployments", "Deployment", short_names=("deploy",), categories=("all",),
        subresources=(_scale(), _status("Deployment")),
    ),
    Resource(
        "apps", "v1", "replicasets", "ReplicaSet", short_names=("rs",), categories=("all",),
        subresources=(_scale(), _status("ReplicaSet")),
    ),
    Resource("events.k8s.io", "v1", "events", "Event", short_names=("ev",), storage_group=""),
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", short_names=("netpol",)),
    Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
    Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    Resource(_RBAC, "v1", "roles", "Role"),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False, short_names=("sc",)),
    Resource(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
        namespaced=False,
        short_names=("crd", "crds"), categories=("api-extensions",),
        subresources=(_status("CustomResourceDefinition"),),
    ),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    *_reviews(),
)  # fmt: skip

# The order in which the real server lists its groups; later ones (custom) follow by name.
GROUP_ORDER = (
    "", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "networking.k8s.io",
    _RBAC, "storage.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
)  # fmt: skip
