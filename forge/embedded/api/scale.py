"""The scale subresource: the replicas of an object as a document of their own."""

from __future__ import annotations

from typing import Any

from forge.embedded.api import jsonpath, status
from forge.embedded.api.customs import ScalePaths
from forge.embedded.api.printers import Column, age_column, name_column
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, dig

_BUILTIN = ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector")
COLUMNS = (
    name_column(),
    Column(
        "Desired", lambda o, _: dig(o, "spec", "replicas") or 0, "integer", "", "Number of desired replicas"
    ),
    Column(
        "Available",
        lambda o, _: dig(o, "status", "replicas") or 0,
        "integer",
        "",
        "Number of actual replicas",
    ),
    Column("Age", age_column().cell, "date", "", "ObjectMeta#creationTimestamp"),
)


def paths_of(resource: Resource) -> ScalePaths:
    return resource.custom.scale if resource.custom and resource.custom.scale else _BUILTIN


def scale_of(document: Json, resource: Resource) -> Json:
    """The Scale of *document*. Raises 500 where its replicas are not set."""
    paths = paths_of(resource)
    wanted = jsonpath.find(document, paths.spec)
    if not wanted and resource.custom is not None:
        said = f"the spec replicas field {status.quote(paths.spec)} does not exist"
        raise status.ApiError(
            500, "InternalError", f"Internal error occurred: {said}", {"causes": [{"message": said}]}
        )
    meta = document["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    current = jsonpath.find(document, paths.status)
    found: Json = {"replicas": current[0] if current else 0}
    selector = _selector(document, paths, resource)
    if selector:
        found["selector"] = selector
    replicas = wanted[0] if wanted else 0
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {k: meta[k] for k in kept if k in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": found,
    }


def _selector(document: Json, paths: ScalePaths, resource: Resource) -> str:
    if not paths.selector:
        return ""
    found = jsonpath.find(document, paths.selector)
    value = found[0] if found else ""
    if isinstance(value, str):
        return value
    return selector_text(value) if resource.custom is None else ""


def selector_text(selector: Json) -> str:
    """A LabelSelector as text: `a=b,c in (d,e)`."""
    parts = [f"{k}={v}" for k, v in (selector.get("matchLabels") or {}).items()]
    for e in selector.get("matchExpressions") or []:
        key, values = e["key"], ",".join(sorted(e.get("values") or []))
        said = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append(said[e["operator"]])
    return ",".join(sorted(parts))


def check(scale: Json, name: str, resource: Resource) -> None:
    """Raises 400 and 422 for a Scale that cannot be."""
    given = scale.get("metadata") or {}
    if given.get("name") not in (None, "", name):
        raise status.bad_request(
            f"the name of the object ({given['name']}) does not match the name on the URL ({name})"
        )
    replicas = dig(scale, "spec", "replicas") or 0
    if replicas >= 0:
        return
    if resource.custom is None:
        cause = status.wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid("autoscaling", "Scale", name, [cause])
    field = paths_of(resource).spec
    wanted = field.removeprefix(".")
    causes = [
        status.wrong(wanted, replicas, f"{wanted} in body should be greater than or equal to 0"),
        status.wrong(field, replicas, "should be a non-negative integer"),
    ]
    raise status.invalid(resource.group, resource.kind, name, causes)


def apply_to(document: Json, scale: Json, resource: Resource) -> Json:
    """*document*, the caller's own, with the replicas of *scale*."""
    path = jsonpath.parse(paths_of(resource).spec) or ()
    place: Any = document
    for step in path[:-1]:
        place = place.setdefault(step.name, {})
    place[path[-1].name] = dig(scale, "spec", "replicas") or 0
    given = (scale.get("metadata") or {}).get("resourceVersion")
    if given:
        document["metadata"]["resourceVersion"] = given
    return document
