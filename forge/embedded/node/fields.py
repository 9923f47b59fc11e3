"""The downward API: what a pod may read of itself, in env and in files. Pure."""

from __future__ import annotations

import math
import re

from forge.embedded.api import quantity
from forge.embedded.api.values import Json, dig

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


def field(pod: Json, path: str) -> str | None:
    """The text of a fieldRef; None for a path that the downward API does not have."""
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        values = pod["metadata"].get(subscript[1]) or {}
        return str(values.get(subscript[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = pod["metadata"].get(path.removeprefix("metadata.")) or {}
        return "\n".join(f"{key}={_quoted(value)}" for key, value in sorted(values.items()))
    if path in ("status.podIPs", "status.hostIPs"):
        addresses = dig(pod, "status", path.removeprefix("status.")) or []
        return ",".join(str(entry["ip"]) for entry in addresses)
    if path in _PLAIN:
        value = dig(pod, *path.split("."))
        return "" if value is None else str(value)
    return None


_PLAIN = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.podIP",
    "status.hostIP",
)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def resource(pod: Json, container: str, reference: Json, capacity: Json) -> str:
    """The text of a resourceFieldRef: in units of its divisor, rounded up. A container without a
    limit may use all of the node. capacity: the node's allocatable."""
    kind, _, what = str(reference.get("resource", "")).partition(".")
    name = reference.get("containerName") or container
    found = next((c for c in containers(pod) if c["name"] == name), {})
    value = dig(found, "resources", kind, what)
    if value is None:
        value = capacity.get(what, "0") if kind == "limits" else "0"
    divisor = reference.get("divisor") or "1"
    if str(divisor) == "0":
        divisor = "1"
    return str(math.ceil(quantity.parse(str(value)) / quantity.parse(str(divisor))))


def containers(pod: Json) -> list[Json]:
    """All of the pod's, those that initialise it first."""
    spec = pod["spec"]
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
