"""What must hold of a Service's spec, whatever its cluster."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_LAST_PORT = 65535
_RANGE_SAID = "must be between 1 and 65535, inclusive"


def ip_said() -> str:
    return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def causes(document: Json) -> list[Cause]:
    """What is wrong with a Service."""
    spec = document.get("spec") or {}
    kind = spec.get("type")
    ports = spec.get("ports") or []
    found = []
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        found.append(status.missing("spec.ports"))
    if kind == "ExternalName":
        found += _external_causes(spec)
    found += _all_port_causes(ports, kind)
    for key in spec.get("selector") or {}:
        found += [status.wrong("spec.selector", key, w) for w in names.qualified(key)]
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        found.append(
            status.unsupported("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
        )
    found += _address_causes(spec)
    if kind not in _TYPES:
        found.append(status.unsupported("spec.type", kind, _TYPES))
    for index, source in enumerate(spec.get("loadBalancerSourceRanges") or []):
        if not _is_cidr(source):
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            found.append(status.wrong(f"spec.LoadBalancerSourceRanges[{index}]", source, why))
    return found


def _external_causes(spec: Json) -> list[Cause]:
    name = (spec.get("externalName") or "").rstrip(".")
    if not name:
        return [status.missing("spec.externalName")]
    return [status.wrong("spec.externalName", name, w) for w in names.subdomain(name)]


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


def _address_causes(spec: Json) -> list[Cause]:
    found = []
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    for index, address in enumerate(addresses):
        if address != "None" and not is_ip(address):
            found.append(status.wrong(f"spec.clusterIPs[{index}]", address, ip_said()))
    for index, address in enumerate(spec.get("externalIPs") or []):
        if not is_ip(address):
            found.append(status.wrong(f"spec.externalIPs[{index}]", address, ip_said()))
    return found


def _all_port_causes(ports: list[Json], kind: Any) -> list[Cause]:
    found: list[Cause] = []
    seen_names: set[str] = set()
    for index, port in enumerate(ports):
        found += _port_causes(port, f"spec.ports[{index}]", seen_names, many=len(ports) > 1)
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        found += [
            status.denied(f"spec.ports[{i}].nodePort", why) for i, p in enumerate(ports) if p.get("nodePort")
        ]
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        pair = (port.get("port"), port.get("protocol"))
        if pair in seen:
            message = f"Duplicate value: {_go_port(port)}"
            found.append(Cause(f"spec.ports[{index}]", "FieldValueDuplicate", message))
        seen.add(pair)
    return found


def _go_port(port: Json) -> str:
    target = 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}'
    shown = f"Protocol:{status.quote(port['protocol'])}, AppProtocol:(*string)(nil), Port:{port['port']}"
    return f'core.ServicePort{{Name:"", {shown}, TargetPort:{target}, NodePort:0}}'


def _port_causes(port: Json, path: str, seen: set[str], *, many: bool) -> list[Cause]:
    found = []
    name = port.get("name", "")
    if many and not name:
        found.append(status.missing(f"{path}.name"))
    elif name:
        found += [status.wrong(f"{path}.name", name, w) for w in names.label(name)]
        if name in seen:
            found.append(status.doubled(f"{path}.name", name))
        seen.add(name)
    number = port.get("port", 0)
    if not 0 < number <= _LAST_PORT:
        found.append(status.wrong(f"{path}.port", number, _RANGE_SAID))
    if port.get("protocol") not in _PROTOCOLS:
        found.append(status.unsupported(f"{path}.protocol", port.get("protocol"), _PROTOCOLS))
    return found + _target_causes(port.get("targetPort", 0), f"{path}.targetPort")


def _target_causes(target: Any, field: str) -> list[Cause]:
    if isinstance(target, int):
        return [] if 0 < target <= _LAST_PORT else [status.wrong(field, target, _RANGE_SAID)]
    return [status.wrong(field, target, w) for w in port_name(str(target))]


def port_name(name: str) -> list[str]:
    """The rule for names of ports (IANA service names)."""
    found = []
    if len(name) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch(r"[a-zA-Z0-9-]+", name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    elif not re.search(r"[a-zA-Z]", name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found
