"""The remaining small kinds: leases, events, nodes, policies, endpoints, storage classes."""

from __future__ import annotations

import ipaddress
from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies.service_rules import ip_said, is_ip
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json, dig

_FAMILIES = ("FQDN", "IPv4", "IPv6")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LAST_PORT = 65535


def _lease(document: Json) -> list[Cause]:
    spec = document.get("spec") or {}
    found = []
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        found.append(
            status.wrong("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        )
    if spec.get("leaseTransitions") is not None and spec["leaseTransitions"] < 0:
        why = "must be greater than or equal to 0"
        found.append(status.wrong("spec.leaseTransitions", spec["leaseTransitions"], why))
    return found


def _event(document: Json) -> list[Cause]:
    """Either group's: what an event is about lies in the event's own namespace."""
    about = document.get("involvedObject") or document.get("regarding") or {}
    field = "involvedObject.namespace"
    place, own = about.get("namespace") or "", document["metadata"].get("namespace", "")
    found = []
    if place and place != own:
        found.append(status.wrong(field, place, "does not match event.namespace"))
    if document.get("apiVersion") == "events.k8s.io/v1" and not document.get("eventTime"):
        return [status.missing("eventTime")]
    return found


def _node_create(_cluster: Cluster, document: Json) -> None:
    """A new node is tainted until somebody says that it is ready, as admission does."""
    spec = document.get("spec") or {}
    document["spec"] = spec
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    conditions = dig(document, "status", "conditions") or []
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
    if not ready and taint not in (spec.get("taints") or []):
        spec["taints"] = [*(spec.get("taints") or []), taint]


def _node_default(document: Json) -> None:
    found = document.get("status") or {}
    if found.get("capacity") and not found.get("allocatable"):
        found["allocatable"] = dict(found["capacity"])


def _node(document: Json) -> list[Cause]:
    found: list[Cause] = []
    for index, taint in enumerate(dig(document, "spec", "taints") or []):
        path, key = f"metadata.taints[{index}]", taint.get("key", "")
        found += [status.wrong(f"{path}.key", key, w) for w in names.qualified(key)]
        if taint.get("effect") not in _EFFECTS:
            found.append(status.unsupported(f"{path}.effect", taint.get("effect"), _EFFECTS))
    return found


def _node_update(new: Json, old: Json) -> list[Cause]:
    found = _node(new) * 2
    before = dig(old, "spec", "providerID")
    if before and dig(new, "spec", "providerID") != before:
        why = 'node updates may not change providerID except from "" to valid'
        found.append(status.denied("spec.providerID", why))
    return found


def _policy_default(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or []:
            for port in rule.get("ports") or []:
                port["protocol"] = port.get("protocol") or "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _slice_default(document: Json) -> None:
    for port in document.get("ports") or []:
        if port.get("name") is None:
            port["name"] = ""
        port["protocol"] = port.get("protocol") or "TCP"


def _slice(document: Json) -> list[Cause]:
    found: list[Cause] = []
    family = document.get("addressType")
    if family not in _FAMILIES:
        found.append(status.unsupported("addressType", family, _FAMILIES))
    for index, endpoint in enumerate(document.get("endpoints") or []):
        addresses = endpoint.get("addresses") or []
        path = f"endpoints[{index}].addresses"
        if not addresses:
            found.append(status.missing(path, "must contain at least 1 address"))
        for place, address in enumerate(addresses):
            found += _address_causes(family, address, f"{path}[{place}]")
    return found


def _address_causes(family: Any, address: str, field: str) -> list[Cause]:
    if family == "FQDN":
        return [status.wrong(field, address, w) for w in names.subdomain(address)]
    wanted = {"IPv4": 4, "IPv6": 6}.get(family)
    if wanted is None:
        return []
    if not is_ip(address) or ipaddress.ip_address(address).version != wanted:
        return [status.wrong(field, address, f"must be a valid {family} address")]
    return []


def _slice_update(new: Json, old: Json) -> list[Cause]:
    found = _slice(new)
    if new.get("addressType") != old.get("addressType"):
        found.append(status.wrong("addressType", new.get("addressType"), "field is immutable"))
    return found


def _endpoints_default(document: Json) -> None:
    for subset in document.get("subsets") or []:
        for port in subset.get("ports") or []:
            port["protocol"] = port.get("protocol") or "TCP"


def _endpoints(document: Json) -> list[Cause]:
    found: list[Cause] = []
    for index, subset in enumerate(document.get("subsets") or []):
        for kind in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(kind) or []):
                found += _endpoint_causes(address.get("ip", ""), f"subsets[{index}].{kind}[{place}].ip")
        for place, port in enumerate(subset.get("ports") or []):
            number = port.get("port", 0)
            if not 0 < number <= _LAST_PORT:
                field = f"subsets[{index}].ports[{place}].port"
                found.append(status.wrong(field, number, "must be between 1 and 65535, inclusive"))
    return found


def _endpoint_causes(address: str, field: str) -> list[Cause]:
    """Loopback is fine here, unlike in a real cluster: it is where an embedded one lives."""
    if is_ip(address):
        return []
    return [
        status.wrong(field, address, ip_said()),
        status.wrong(field, address, "must be a valid IP address"),
    ]


def _storage_class_default(document: Json) -> None:
    document["reclaimPolicy"] = document.get("reclaimPolicy") or "Delete"
    document["volumeBindingMode"] = document.get("volumeBindingMode") or "Immediate"


def _again(validate: Any) -> Any:
    def validate_update(new: Json, _old: Json) -> list[Cause]:
        found: list[Cause] = validate(new)
        return found

    return validate_update


register("leases.coordination.k8s.io", Strategy(validate=_lease, validate_update=_again(_lease)))
register("events", Strategy(validate=_event, create_on_update=True))
register(
    "nodes",
    Strategy(
        default=_node_default,
        create=_node_create,
        validate=_node,
        validate_update=_node_update,
        has_status=False,
    ),
)
register("networkpolicies.networking.k8s.io", Strategy(default=_policy_default, generation=True))
register(
    "endpointslices.discovery.k8s.io",
    Strategy(default=_slice_default, validate=_slice, validate_update=_slice_update, generation=True),
)
register("endpoints", Strategy(default=_endpoints_default, validate=_endpoints, create_on_update=True))
register("storageclasses.storage.k8s.io", Strategy(default=_storage_class_default))
