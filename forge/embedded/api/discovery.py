"""What this server serves, told in three ways: legacy lists, one aggregated document, root paths."""

from __future__ import annotations

from forge.embedded.api.health import CHECKS
from forge.embedded.api.registry import Registry
from forge.embedded.api.resources import Resource, Subresource, storage_hash
from forge.embedded.api.values import Json

AGGREGATED_VERSIONS = ("v2", "v2beta1")


def aggregated_type(version: str) -> str:
    """The content type of the aggregated document."""
    return f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def api_versions(address: str) -> Json:
    """GET /api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> Json:
    """GET /apis."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(registry, g) for g in registry.groups()],
    }


def group(registry: Registry, name: str) -> Json | None:
    """GET /apis/GROUP; None for an unknown one."""
    if name not in registry.groups():
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(registry, name)}


def _group(registry: Registry, name: str) -> Json:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in registry.versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(registry: Registry, group_: str, version: str) -> Json | None:
    """GET /api/v1 and /apis/GROUP/VERSION; None for an unknown one."""
    found = registry.resources(group_, version)
    if not found:
        return None
    entries = [entry for resource in found for entry in _entries(resource)]
    head: Json = {"kind": "APIResourceList"}
    if group_:
        head["apiVersion"] = "v1"
    return head | {"groupVersion": f"{group_}/{version}" if group_ else version, "resources": entries}


def _entries(resource: Resource) -> list[Json]:
    entry: Json = {
        "name": resource.plural,
        "singularName": _singular(resource),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.verbs != ("create",):
        entry["storageVersionHash"] = _hash(resource)
    return [entry, *(_sub_entry(resource, s) for s in _ordered(resource))]


def _ordered(resource: Resource) -> list[Subresource]:
    """Built-in subresources come by name, a CRD's as status, scale."""
    found = list(resource.subresources)
    return found if resource.custom else sorted(found, key=lambda s: s.name)


def _hash(resource: Resource) -> str:
    group_ = resource.group if resource.storage_group is None else resource.storage_group
    version = resource.custom.storage_version if resource.custom else resource.version
    return storage_hash(group_, version, resource.kind)


def _sub_entry(resource: Resource, sub: Subresource) -> Json:
    entry: Json = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if sub.group:
        entry |= {"group": sub.group, "version": sub.version}
    return entry | {"kind": sub.kind, "verbs": list(sub.verbs)}


def _singular(resource: Resource) -> str:
    return resource.singular or resource.kind.lower()


def aggregated(registry: Registry, version: str, *, core: bool) -> Json:
    """One document for all groups: the core one (GET /api) or the named ones (GET /apis)."""
    groups = [""] if core else registry.groups()
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(registry, g) for g in groups],
    }


def _aggregated_group(registry: Registry, name: str) -> Json:
    meta: Json = {"name": name} if name else {}
    meta["creationTimestamp"] = None
    versions = [
        {
            "version": v,
            "resources": [_aggregated_resource(r) for r in registry.resources(name, v)],
            "freshness": "Current",
        }
        for v in registry.versions(name)
    ]
    return {"metadata": meta, "versions": versions}


def _response_kind(resource: Resource, kind: str, group_: str, version: str) -> Json:
    """Built-in kinds leave group and version to the reader, as the real server does."""
    if resource.custom is not None and not group_:
        return {"group": resource.group, "version": resource.version, "kind": kind}
    return {"group": group_, "version": version, "kind": kind}


def _aggregated_resource(resource: Resource) -> Json:
    entry: Json = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.kind, "", ""),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": _singular(resource),
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    subs = [
        {
            "subresource": s.name,
            "responseKind": _response_kind(resource, s.kind, s.group, s.version),
            "verbs": list(s.verbs),
        }
        for s in _ordered(resource)
    ]
    return entry | ({"subresources": subs} if subs else {})


def root_paths(registry: Registry) -> Json:
    """GET /: every path that is not about an object."""
    paths = {
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/metrics",
        "/version",
    }
    paths |= {"/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks"}
    for name in registry.groups():
        paths.add(f"/apis/{name}")
        paths |= {f"/apis/{name}/{v}" for v in registry.versions(name)}
    for endpoint, checks in CHECKS.items():
        paths |= {f"/{endpoint}", *(f"/{endpoint}/{check}" for check in checks)}
    return {"paths": sorted(paths)}
