"""Field selectors: which fields of which kind can be selected by, and how an object is matched."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forge.embedded.api import jsonpath, status
from forge.embedded.api.resources import Resource
from forge.embedded.api.selectors import Term
from forge.embedded.api.values import Json, dig

Matches = Callable[[Json], bool]
_ALWAYS = ("metadata.name", "metadata.namespace")
_BY_KIND: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "nodes": ("spec.unschedulable",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicasets.apps": ("status.replicas",),
}
# Kinds that name the field in a message of their own; the others list what they know.
_PLAIN_REFUSAL = {"pods", "events", "namespaces", "secrets", "nodes", "services", "replicasets.apps"}


def matcher(resource: Resource, chosen: Sequence[Term]) -> Matches:
    """One predicate of all *chosen*. Raises 400 for fields that cannot be selected by."""
    for term in chosen:
        _check(resource, term.field)
    custom = resource.custom is not None

    def matches(document: Json) -> bool:
        return all((value_of(document, t.field, custom=custom) == t.value) == t.equal for t in chosen)

    return matches


def _check(resource: Resource, field: str) -> None:
    if field in _ALWAYS:
        return
    if resource.custom is not None:
        if f".{field}" not in resource.custom.selectable:
            raise status.bad_request(f"field label not supported: {field}")
        return
    known = _BY_KIND.get(resource.storage, ())
    if field in known:
        return
    if resource.storage in _PLAIN_REFUSAL:
        raise status.bad_request(f"field label not supported: {field}")
    listed = ", ".join(status.quote(f) for f in _ALWAYS)
    raise status.bad_request(f"{status.quote(field)} is not a known field selector: only {listed}")


def value_of(document: Json, field: str, *, custom: bool = False) -> str:
    """A field's value as selectors compare it: text, empty when there is none."""
    if custom and field not in _ALWAYS:
        found = jsonpath.find(document, f".{field}")
        value = found[0] if found else ""
    elif field == "source":
        value = dig(document, "source", "component") or document.get("reportingComponent")
    else:
        value = dig(document, *field.split("."))
    if isinstance(value, bool):
        return "true" if value else "false"
    if field in ("spec.unschedulable", "spec.hostNetwork") and value is None:
        return "false"
    return "" if value is None else str(value)
