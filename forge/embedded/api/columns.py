"""The table columns of each built-in kind, as the real server prints them."""

from __future__ import annotations

from forge.embedded.api import cells
from forge.embedded.api.printers import (
    GENERIC,
    NONE,
    Column,
    age,
    age_column,
    at,
    count,
    created_column,
    name_column,
    selector,
)

NAME, AGE = name_column(), age_column()


_CONTAINERS = (
    Column(
        "Containers", cells.containers("name"), said="Names of each container in the template.", priority=1
    ),
    Column(
        "Images",
        cells.containers("image"),
        said="Images referenced by each container in the template.",
        priority=1,
    ),
)
_NODE_INFO = "core.v1.NodeSystemInfo"

BUILTIN: dict[str, tuple[Column, ...]] = {
    "namespaces": (NAME, Column("Status", at("status", "phase"), said="The status of the namespace"), AGE),
    "configmaps": (
        NAME,
        Column(
            "Data",
            lambda o, _: len(o.get("data") or ()) + len(o.get("binaryData") or ()),
            said="core.v1.ConfigMap#data",
        ),
        AGE,
    ),
    "secrets": (
        NAME,
        Column("Type", at("type"), said="core.v1.Secret#type"),
        Column("Data", count("data"), said="core.v1.Secret#data"),
        AGE,
    ),
    "serviceaccounts": (
        NAME,
        Column("Secrets", count("secrets"), said="core.v1.ServiceAccount#secrets"),
        AGE,
    ),
    "services": (
        NAME,
        Column("Type", at("spec", "type"), said="core.v1.ServiceSpec#type"),
        Column("Cluster-IP", at("spec", "clusterIP", otherwise=NONE), said="core.v1.ServiceSpec#clusterIP"),
        Column("External-IP", cells.external, said="core.v1.ServiceSpec#externalIPs"),
        Column("Port(s)", cells.ports, said="core.v1.ServiceSpec#ports"),
        AGE,
        Column("Selector", selector("spec", "selector"), said="core.v1.ServiceSpec#selector", priority=1),
    ),
    "endpoints": (NAME, Column("Endpoints", cells.endpoints, said="core.v1.Endpoints#subsets"), AGE),
    "endpointslices.discovery.k8s.io": (
        NAME,
        Column("AddressType", at("addressType"), said="discovery.v1.EndpointSlice#addressType"),
        Column("Ports", cells.slice_ports, said="discovery.v1.EndpointSlice#ports"),
        Column("Endpoints", cells.slice_endpoints, said="discovery.v1.EndpointSlice#endpoints"),
        AGE,
    ),
    "leases.coordination.k8s.io": (
        NAME,
        Column("Holder", at("spec", "holderIdentity"), said="coordination.v1.LeaseSpec#holderIdentity"),
        AGE,
    ),
    "nodes": (
        NAME,
        Column("Status", cells.node_status, said="The status of the node"),
        Column("Roles", cells.roles, said="The roles of the node"),
        AGE,
        Column("Version", at("status", "nodeInfo", "kubeletVersion"), said=f"{_NODE_INFO}#kubeletVersion"),
        Column("Internal-IP", cells.address("InternalIP"), said="core.v1.NodeStatus#addresses", priority=1),
        Column("External-IP", cells.address("ExternalIP"), said="core.v1.NodeStatus#addresses", priority=1),
        Column(
            "OS-Image",
            cells.or_else("<unknown>", "status", "nodeInfo", "osImage"),
            said=f"{_NODE_INFO}#osImage",
            priority=1,
        ),
        Column(
            "Kernel-Version",
            cells.or_else("<unknown>", "status", "nodeInfo", "kernelVersion"),
            said=f"{_NODE_INFO}#kernelVersion",
            priority=1,
        ),
        Column(
            "Container-Runtime",
            cells.or_else("<unknown>", "status", "nodeInfo", "containerRuntimeVersion"),
            said=f"{_NODE_INFO}#containerRuntimeVersion",
            priority=1,
        ),
    ),
    "deployments.apps": (
        NAME,
        Column("Ready", cells.ready, said="Number of the pod with ready state"),
        Column(
            "Up-to-date",
            at("status", "updatedReplicas", otherwise=0),
            said="apps.v1.DeploymentStatus#updatedReplicas",
        ),
        Column(
            "Available",
            at("status", "availableReplicas", otherwise=0),
            said="apps.v1.DeploymentStatus#availableReplicas",
        ),
        AGE,
        *_CONTAINERS,
        Column("Selector", selector("spec", "selector"), said="apps.v1.DeploymentSpec#selector", priority=1),
    ),
    "replicasets.apps": (
        NAME,
        Column(
            "Desired", at("spec", "replicas", otherwise=0), "integer", said="apps.v1.ReplicaSetSpec#replicas"
        ),
        Column(
            "Current",
            at("status", "replicas", otherwise=0),
            "integer",
            said="apps.v1.ReplicaSetStatus#replicas",
        ),
        Column(
            "Ready",
            at("status", "readyReplicas", otherwise=0),
            "integer",
            said="apps.v1.ReplicaSetStatus#readyReplicas",
        ),
        AGE,
        *_CONTAINERS,
        Column("Selector", selector("spec", "selector"), said="apps.v1.ReplicaSetSpec#selector", priority=1),
    ),
    "events": (
        Column("Last Seen", cells.last_seen, said="core.v1.Event#lastTimestamp"),
        Column("Type", at("type"), said="core.v1.Event#type"),
        Column("Reason", at("reason"), said="core.v1.Event#reason"),
        Column("Object", cells.event_object, said="core.v1.Event#involvedObject"),
        Column(
            "Subobject",
            at("involvedObject", "fieldPath"),
            said="core.v1.ObjectReference#fieldPath",
            priority=1,
        ),
        Column("Source", cells.event_source, said="core.v1.Event#source", priority=1),
        Column(
            "Message",
            lambda o, _: str(o.get("message") or o.get("note") or "").strip(),
            said="core.v1.Event#message",
        ),
        Column(
            "First Seen",
            lambda o, now: age(cells.first(o), now),
            said="core.v1.Event#firstTimestamp",
            priority=1,
        ),
        Column("Count", cells.event_count, said="core.v1.Event#count", priority=1),
        Column("Name", at("metadata", "name"), "string", "name", "ObjectMeta#name", 1),
    ),
    "roles.rbac.authorization.k8s.io": (NAME, created_column()),
    "clusterroles.rbac.authorization.k8s.io": (NAME, created_column()),
    "rolebindings.rbac.authorization.k8s.io": (
        NAME,
        Column("Role", cells.role, said="rbac.v1.RoleBinding#roleRef"),
        AGE,
        Column("Users", cells.subjects("User"), said="Users in the roleBinding", priority=1),
        Column("Groups", cells.subjects("Group"), said="Groups in the roleBinding", priority=1),
        Column(
            "ServiceAccounts",
            cells.subjects("ServiceAccount"),
            said="ServiceAccounts in the roleBinding",
            priority=1,
        ),
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": (
        NAME,
        Column("Role", cells.role, said="rbac.v1.ClusterRoleBinding#roleRef"),
        AGE,
        Column("Users", cells.subjects("User"), said="Users in the clusterRoleBinding", priority=1),
        Column("Groups", cells.subjects("Group"), said="Groups in the clusterRoleBinding", priority=1),
        Column(
            "ServiceAccounts",
            cells.subjects("ServiceAccount"),
            said="ServiceAccounts in the clusterRoleBinding",
            priority=1,
        ),
    ),
    "networkpolicies.networking.k8s.io": (
        NAME,
        Column(
            "Pod-Selector",
            selector("spec", "podSelector"),
            said="networking.v1.NetworkPolicySpec#podSelector",
        ),
        AGE,
    ),
    "storageclasses.storage.k8s.io": (
        Column("Name", cells.default_class, "string", "name", "ObjectMeta#name"),
        Column("Provisioner", at("provisioner"), said="storage.v1.StorageClass#provisioner"),
        Column(
            "ReclaimPolicy",
            at("reclaimPolicy", otherwise="Delete"),
            said="storage.v1.StorageClass#reclaimPolicy",
        ),
        Column(
            "VolumeBindingMode",
            at("volumeBindingMode", otherwise="Immediate"),
            said="storage.v1.StorageClass#volumeBindingMode",
        ),
        Column(
            "AllowVolumeExpansion",
            lambda o, _: bool(o.get("allowVolumeExpansion")),
            said="storage.v1.StorageClass#allowVolumeExpansion",
        ),
        AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": GENERIC,
}
