"""The packaged definitions, read once: shapes for every request, documentation for `explain` only.

Made by generate.py out of Kubernetes' published Go packages, Apache-2.0, copyright the Kubernetes
authors. One field is a dictionary with short keys, since they are stored some thousand times:

    n name   t type   i inlined   o omitempty   r required   p protobuf number   d default   e enum
    l listType   k listMapKeys   m mapType   s patchStrategy   mk patchMergeKey
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
API: Final = "io.k8s.api"
PACKAGES: Final = {
    "": f"{API}.core",
    "apps": f"{API}.apps",
    "discovery.k8s.io": f"{API}.discovery",
    "events.k8s.io": f"{API}.events",
    "coordination.k8s.io": f"{API}.coordination",
    "rbac.authorization.k8s.io": f"{API}.rbac",
    "networking.k8s.io": f"{API}.networking",
    "storage.k8s.io": f"{API}.storage",
    "authorization.k8s.io": f"{API}.authorization",
    "authentication.k8s.io": f"{API}.authentication",
    "autoscaling": f"{API}.autoscaling",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "meta.k8s.io": "io.k8s.apimachinery.pkg.apis.meta",
}


@cache
def types() -> dict[str, dict[str, Any]]:
    """Every packaged type by its document name."""
    found: dict[str, dict[str, Any]] = _read("types.json.gz")
    return found


@cache
def docs() -> dict[str, dict[str, str]]:
    """Documentation by type, then by field; "" is the type's own."""
    found: dict[str, dict[str, str]] = _read("docs.json.gz")
    return found


def name_of(group: str, version: str, kind: str) -> str:
    """The document name of a kind, whether it is packaged or not; "" for an unknown group."""
    package = PACKAGES.get(group)
    return f"{package}.{version}.{kind}" if package else ""


def full_name(group: str, version: str, kind: str) -> str:
    """The document name of a packaged kind, meta/v1's common kinds in every group; "" for none."""
    for name in (name_of(group, version, kind), f"{META}.{kind}"):
        if name in types():
            return name
    return ""


def fields_of(name: str) -> list[dict[str, Any]]:
    """The fields of type *name* with the inlined ones in their place."""
    found: list[dict[str, Any]] = []
    for entry in types()[name]["f"]:
        found += fields_of(entry["t"].removeprefix("*")) if entry.get("i") else [entry]
    return found


def _read(name: str) -> Any:
    return json.loads(gzip.decompress(files("forge.embedded.api.openapi").joinpath(name).read_bytes()))
