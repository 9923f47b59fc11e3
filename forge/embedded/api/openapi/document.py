"""One OpenAPI v3 document: the paths of a group's version and the schemas they use.

What kubectl needs of it: `explain` reads the schemas; `apply`, `diff` and `replace` look for
x-kubernetes-group-version-kind on a path and for the parameter fieldValidation of its patch, and
then leave validation to the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from forge.embedded.api.openapi import components
from forge.embedded.api.openapi.components import component, custom, custom_list, custom_name
from forge.embedded.api.openapi.data import META, full_name
from forge.embedded.api.openapi.operations import Paths, Served, Sub, group_path
from forge.embedded.api.schema.model import JSON

__all__ = ["Served", "Sub", "document"]

SECURITY: Final = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}


def document(group: str, version: str, resources: Iterable[Served], *, release: str = "v1.32.0") -> JSON:
    """The document of *group*/*version* (group "" for core), which serves *resources*."""
    served = sorted(resources, key=lambda r: r.plural)
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths: JSON = {}
    for resource in served:
        paths.update(Paths(group, version, prefix, resource).all())
    made_here = any(r.is_custom for r in served)
    parts: JSON = {"schemas": dict(sorted(schemas(group, version, served)))}
    if not made_here:
        paths[f"{prefix}/"] = group_path(group, version)
        parts["securitySchemes"] = SECURITY
    title = "Kubernetes CRD Swagger" if made_here else "Kubernetes"
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": release},
        "paths": dict(sorted(paths.items())),
        "components": parts,
    }


def schemas(group: str, version: str, served: list[Served]) -> Iterator[tuple[str, JSON]]:
    """(name, schema) of everything that the document needs."""
    kinds: dict[str, list[JSON]] = {}
    common = ["DeleteOptions", "Patch", "Status", "ObjectMeta", "ListMeta"]
    if not any(r.is_custom for r in served):
        common += ["WatchEvent", "APIResourceList"]
    names = {f"{META}.{kind}" for kind in common}
    for kind in ("DeleteOptions", "WatchEvent", "Status", "APIResourceList"):
        everywhere = kind in ("DeleteOptions", "WatchEvent")
        entries = {("", "v1"), (group, version)} if everywhere else {("", "v1")}
        kinds[f"{META}.{kind}"] = [components.kind_of(g, v, kind) for g, v in sorted(entries)]
    for resource in served:
        for sub in resource.subresources:
            _named(names, kinds, sub.group, sub.version, sub.kind)
        if resource.openapi is not None:
            yield (
                custom_name(group, version, resource.kind),
                custom(resource.openapi, group, version, resource.kind, resource.selectable),
            )
            yield (
                custom_name(group, version, resource.list_kind),
                custom_list(group, version, resource.kind, resource.list_kind, resource.plural),
            )
            continue
        for kind in (resource.kind, resource.list_kind):
            _named(names, kinds, group, version, kind)
    for name in components.reached(names):
        yield name, component(name, kinds.get(name, []))


def _named(names: set[str], kinds: dict[str, list[JSON]], group: str, version: str, kind: str) -> None:
    name = full_name(group, version, kind)
    if name:
        names.add(name)
        kinds[name] = [components.kind_of(group, version, kind)]
