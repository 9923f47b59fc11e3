"""Containers: defaults of images, probes and ports, and what must hold of each."""

from __future__ import annotations

import re
from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies.service_rules import port_name
from forge.embedded.api.values import Json, dig

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_LAST_PORT = 65535
# What the downward API can give to a variable.
_FIELD = (
    r"metadata\.(name|namespace|uid|labels\['.*'\]|annotations\['.*'\])"
    r"|spec\.(nodeName|serviceAccountName|host)|status\.(hostIPs?|podIPs?|phase)"
)


def _set(document: Json, field: str, value: Any) -> None:
    if document.get(field) in (None, ""):
        document[field] = value


def default_container(container: Json) -> None:
    """Fills the defaults of one container."""
    for port in container.get("ports") or []:
        _set(port, "protocol", "TCP")
    for variable in container.get("env") or []:
        ref = dig(variable, "valueFrom", "fieldRef")
        if ref is not None:
            _set(ref, "apiVersion", "v1")
    if container.get("resources") is None:
        container["resources"] = {}
    for name in _PROBES:
        if container.get(name) is not None:
            _default_probe(container[name])
    for hook in ("postStart", "preStop"):
        _default_handler(dig(container, "lifecycle", hook) or {})
    _set(container, "terminationMessagePath", "/dev/termination-log")
    _set(container, "terminationMessagePolicy", "File")
    _set(container, "imagePullPolicy", pull_policy(container.get("image") or ""))


def pull_policy(image: str) -> str:
    """Always for what may change under its name: no tag, or latest."""
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rsplit("/", 1)[-1].partition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def _default_probe(probe: Json) -> None:
    _default_handler(probe)
    for field, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = value


def _default_handler(handler: Json) -> None:
    if handler.get("httpGet") is not None:
        _set(handler["httpGet"], "path", "/")
        _set(handler["httpGet"], "scheme", "HTTP")
    if handler.get("grpc") is not None and handler["grpc"].get("service") is None:
        handler["grpc"]["service"] = ""


def container_causes(container: Json, path: str, volumes: set[str]) -> list[Cause]:
    """What is wrong with one container; volumes: the names it may mount."""
    found: list[Cause] = []
    name = container.get("name", "")
    if not name:
        found.append(status.missing(f"{path}.name"))
    else:
        found += [status.wrong(f"{path}.name", name, w) for w in names.label(name)]
    image = container.get("image", "")
    if not image:
        found.append(status.missing(f"{path}.image"))
    policy = container.get("imagePullPolicy")
    if policy not in _PULL_POLICIES:
        found.append(status.unsupported(f"{path}.imagePullPolicy", policy, _PULL_POLICIES))
    for index, port in enumerate(container.get("ports") or []):
        found += _port_causes(port, f"{path}.ports[{index}]")
    for index, variable in enumerate(container.get("env") or []):
        found += _variable_causes(variable, f"{path}.env[{index}]")
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        found += _mount_causes(mount, f"{path}.volumeMounts[{index}]", volumes, taken)
    return found + _resource_causes(container.get("resources") or {}, f"{path}.resources")


def _variable_causes(variable: Json, path: str) -> list[Cause]:
    found = []
    if not variable.get("name"):
        found.append(status.missing(f"{path}.name"))
    source = variable.get("valueFrom")
    field = dig(source, "fieldRef", "fieldPath")
    if field is not None and not re.fullmatch(_FIELD, field):
        why = f"error converting fieldPath: field label not supported: {field}"
        found.append(status.wrong(f"{path}.valueFrom.fieldRef.fieldPath", field, why))
    if source is not None and variable.get("value"):
        found.append(status.wrong(f"{path}.valueFrom", "", "may not be specified when `value` is not empty"))
    elif source is not None and not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        found.append(status.wrong(f"{path}.valueFrom", "", f"must specify one of: {kinds}"))
    return found


def _port_causes(port: Json, path: str) -> list[Cause]:
    number = port.get("containerPort", 0)
    found = [status.wrong(f"{path}.name", port["name"], w) for w in port_name(port.get("name") or "a")]
    if number == 0:
        found.append(status.missing(f"{path}.containerPort"))
    elif not 0 < number <= _LAST_PORT:
        found.append(status.wrong(f"{path}.containerPort", number, "must be between 1 and 65535, inclusive"))
    if port.get("protocol") not in _PROTOCOLS:
        found.append(status.unsupported(f"{path}.protocol", port.get("protocol"), _PROTOCOLS))
    return found


def _mount_causes(mount: Json, path: str, volumes: set[str], taken: set[str]) -> list[Cause]:
    name = mount.get("name", "")
    found = []
    if not name:
        found.append(status.missing(f"{path}.name"))
    elif name not in volumes:
        found.append(Cause(f"{path}.name", "FieldValueNotFound", f"Not found: {status.quote(name)}"))
    place = mount.get("mountPath") or ""
    if not place:
        found.append(status.missing(f"{path}.mountPath"))
    elif place in taken:
        found.append(status.wrong(f"{path}.mountPath", place, "must be unique"))
    taken.add(place)
    return found


def _resource_causes(resources: Json, path: str) -> list[Cause]:
    limits = resources.get("limits") or {}
    found = []
    for name, asked in (resources.get("requests") or {}).items():
        if name in limits and amount(asked) > amount(limits[name]):
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            found.append(status.wrong(f"{path}.requests", str(asked), why))
    return found


def amount(quantity: Any) -> float:
    """A quantity as a number, for comparing."""
    text = str(quantity)
    units = {
        "m": 1e-3,
        "k": 1e3,
        "M": 1e6,
        "G": 1e9,
        "T": 1e12,
        "Ki": 2**10,
        "Mi": 2**20,
        "Gi": 2**30,
        "Ti": 2**40,
    }
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * units[unit]
    return float(text)
