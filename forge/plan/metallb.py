"""MetalLB's kinds for a cluster that does its work itself: definitions that take its pool and announcement.

An embedded cluster reads IPAddressPool and L2Advertisement objects once such kinds are there; MetalLB's own
manifest, with its schema and webhook, is for clusters that run it.
"""

from __future__ import annotations

from forge.plan.lab_ports import Object

NAMESPACE = "metallb-system"
VERSION = "metallb.io/v1beta1"
KINDS = ("IPAddressPool", "L2Advertisement")


def definitions() -> tuple[Object, ...]:
    """The namespace and the kinds."""
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return (namespace, *map(_definition, KINDS))


def _definition(kind: str) -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.metallb.io"},
        "spec": {"group": "metallb.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
