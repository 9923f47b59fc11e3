"""The environment of a container, as a kubelet makes it. Pure.

Services come first, then envFrom in order, then env in order; a later name wins. `$(NAME)` in a value
stands for what was said before it, `$$(NAME)` for itself, and a name that nobody said stays as it is.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from forge.embedded.api.values import Json, dig
from forge.embedded.node import fields

_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
Lookup = Callable[[str, str], Json | None]
"""(`configMap` or `secret`, name) to the object in the pod's namespace."""


@dataclass(frozen=True, slots=True)
class Environment:
    """problem: why the container cannot be made; empty when it can."""

    values: dict[str, str]
    problem: str = ""


def expand(text: str, values: Mapping[str, str]) -> str:
    def value_of(found: re.Match[str]) -> str:
        if found.group() == "$$":
            return "$"
        return values.get(found[1], found.group())

    return _REFERENCE.sub(value_of, text)


def environment(
    container: Json, pod: Json, services: Mapping[str, str], lookup: Lookup, capacity: Json
) -> Environment:
    """capacity: what a container without limits may use."""
    values: dict[str, str] = dict(services)
    for source in container.get("envFrom") or []:
        problem = _take_all(source, values, lookup)
        if problem:
            return Environment({}, problem)
    for entry in container.get("env") or []:
        name, source = entry["name"], entry.get("valueFrom")
        if source is None:
            values[name] = expand(entry.get("value") or "", values)
            continue
        text, problem = _value(source, pod, container["name"], lookup, capacity)
        if problem:
            return Environment({}, problem)
        if text is not None:
            values[name] = text
    return Environment(values)


def _take_all(source: Json, values: dict[str, str], lookup: Lookup) -> str:
    for kind, said in (("configMap", "configmap"), ("secret", "secret")):
        reference = source.get(f"{kind}Ref")
        if reference is None:
            continue
        found = lookup(kind, reference["name"])
        if found is None:
            return "" if reference.get("optional") else f'{said} "{reference["name"]}" not found'
        for key, text in texts(kind, found).items():
            values[f"{source.get('prefix') or ''}{key}"] = text
    return ""


def _value(source: Json, pod: Json, container: str, lookup: Lookup, capacity: Json) -> tuple[str | None, str]:
    """(the text, or None for an optional one that is missing; the problem)."""
    if "fieldRef" in source:
        path = source["fieldRef"]["fieldPath"]
        text = fields.field(pod, path)
        return text, "" if text is not None else f"field label not supported: {path}"
    if "resourceFieldRef" in source:
        return fields.resource(pod, container, source["resourceFieldRef"], capacity), ""
    for kind, said in (("configMap", "configmap"), ("secret", "secret")):
        reference = source.get(f"{kind}KeyRef")
        if reference is not None:
            return _key(kind, said, reference, str(dig(pod, "metadata", "namespace")), lookup)
    return None, "env has a source that is not supported"


def _key(kind: str, said: str, reference: Json, namespace: str, lookup: Lookup) -> tuple[str | None, str]:
    name, key, optional = reference["name"], reference["key"], bool(reference.get("optional"))
    found = lookup(kind, name)
    if found is None:
        return None, "" if optional else f'{said} "{name}" not found'
    held = texts(kind, found)
    if key not in held:
        place = "ConfigMap" if kind == "configMap" else "Secret"
        return None, "" if optional else f"couldn't find key {key} in {place} {namespace}/{name}"
    return held[key], ""


def texts(kind: str, found: Json) -> dict[str, str]:
    """Keys of a ConfigMap or Secret to their text; bytes that are none are replaced."""
    if kind == "configMap":
        return dict(found.get("data") or {})
    data = found.get("data") or {}
    return {key: base64.b64decode(value).decode("utf-8", "replace") for key, value in data.items()}


def of_services(services: Iterable[Json], namespace: str, *, links: bool) -> dict[str, str]:
    """Kubernetes' variables for Services: those of the namespace where *links* are wanted, and always
    `kubernetes` of `default`, unless the namespace has one of that name itself."""
    chosen: dict[str, Json] = {}
    for service in services:
        name, own = service["metadata"]["name"], service["metadata"].get("namespace") == namespace
        master = name == "kubernetes" and service["metadata"].get("namespace") == "default"
        if dig(service, "spec", "clusterIP") in (None, "", "None"):
            continue
        if (own and links) or (master and name not in chosen):
            chosen[name] = service
    values: dict[str, str] = {}
    for name, service in sorted(chosen.items()):
        values |= _of_service(name.upper().replace("-", "_"), service["spec"])
    return values


def _of_service(prefix: str, spec: Json) -> dict[str, str]:
    ports = spec.get("ports") or []
    if not ports:
        return {}
    address, first = spec["clusterIP"], ports[0]
    values = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(first["port"])}
    for port in ports:
        if port.get("name"):
            named = port["name"].upper().replace("-", "_")
            values[f"{prefix}_SERVICE_PORT_{named}"] = str(port["port"])
    values[f"{prefix}_PORT"] = f"{_protocol(first)}://{address}:{first['port']}"
    for port in ports:
        linked = f"{prefix}_PORT_{port['port']}_{_protocol(port).upper()}"
        values[linked] = f"{_protocol(port)}://{address}:{port['port']}"
        values[f"{linked}_PROTO"] = _protocol(port)
        values[f"{linked}_PORT"] = str(port["port"])
        values[f"{linked}_ADDR"] = address
    return values


def _protocol(port: Json) -> str:
    return str(port.get("protocol") or "TCP").lower()
