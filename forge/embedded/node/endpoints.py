"""EndpointSlices: for each Service, the pods behind it and which of them are ready.

One slice for each way in which the Service's named ports resolve, which nearly always is one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from forge.embedded.api.values import Event, Json, dig
from forge.embedded.node import pods
from forge.embedded.node.controlling import Controlling
from forge.embedded.node.objects import (
    ENDPOINTS,
    PODS,
    SERVICES,
    SLICES,
    is_leaving,
    name_of,
    namespace_of,
    owner_of,
    owner_reference,
    uid_of,
)

MANAGER = "endpointslice-controller.k8s.io"
SERVICE = "kubernetes.io/service-name"
_MANAGED = "endpointslice.kubernetes.io/managed-by"
_HEADLESS = "service.kubernetes.io/headless"


def slices(service: Json, found: Sequence[Json]) -> list[Json]:
    """The slices of a Service with a selector, given the pods of its namespace."""
    chosen = [pod for pod in found if _fits(service, pod)]
    by_ports: dict[str, tuple[list[Json], list[Json]]] = {}
    for pod in chosen:
        ports = _ports(service, pod)
        mark = json.dumps(ports)
        by_ports.setdefault(mark, (ports, []))[1].append(_endpoint(service, pod))
    if not by_ports:
        return [_slice(service, "none", [], [])]
    return [_slice(service, mark, ports, ends) for mark, (ports, ends) in sorted(by_ports.items())]


def _fits(service: Json, pod: Json) -> bool:
    selector = service["spec"].get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    there = dig(pod, "status", "podIP") and not pods.is_finished(pod)
    return bool(there) and all(labels.get(key) == value for key, value in selector.items())


def _ports(service: Json, pod: Json) -> list[Json]:
    """The Service's ports as this pod has them; one that it has not is left out."""
    resolved = []
    for port in service["spec"].get("ports") or []:
        number = _number(port, pod)
        if number:
            one = {"name": port.get("name") or "", "protocol": port.get("protocol") or "TCP", "port": number}
            if port.get("appProtocol"):
                one["appProtocol"] = port["appProtocol"]
            resolved.append(one)
    return resolved


def _number(port: Json, pod: Json) -> int:
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for container in pod["spec"]["containers"]:
        for one in container.get("ports") or []:
            protocol = one.get("protocol") or "TCP"
            if one.get("name") == target and protocol == (port.get("protocol") or "TCP"):
                return int(one["containerPort"])
    return 0


def _endpoint(service: Json, pod: Json) -> Json:
    serving = pods.is_ready(pod)
    leaving = is_leaving(pod)
    ready = (serving and not leaving) or bool(service["spec"].get("publishNotReadyAddresses"))
    target = {"kind": "Pod", "namespace": namespace_of(pod), "name": name_of(pod), "uid": uid_of(pod)}
    endpoint: Json = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        "targetRef": target,
    }
    if pod["spec"].get("nodeName"):
        endpoint["nodeName"] = pod["spec"]["nodeName"]
    if pod["spec"].get("hostname"):
        endpoint["hostname"] = pod["spec"]["hostname"]
    return endpoint


def _slice(service: Json, mark: str, ports: list[Json], endpoints: list[Json]) -> Json:
    suffix = hashlib.sha256(f"{uid_of(service)}{mark}".encode()).hexdigest()[:5]
    labels = {**(service["metadata"].get("labels") or {}), SERVICE: name_of(service), _MANAGED: MANAGER}
    if service["spec"].get("clusterIP") == "None":
        labels[_HEADLESS] = ""
    return {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": f"{name_of(service)}-{suffix}",
            "namespace": namespace_of(service),
            "labels": labels,
            "ownerReferences": [owner_reference(service)],
        },
        "addressType": "IPv4",
        "endpoints": sorted(endpoints, key=lambda e: str(e["addresses"])),
        "ports": ports,
    }


def endpoints(service: Json, made: Sequence[Json]) -> Json:
    """The older form of the same, which `kubectl get endpoints` shows."""
    subsets = [_subset(one) for one in made if one["endpoints"] and one["ports"]]
    return {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {
            "name": name_of(service),
            "namespace": namespace_of(service),
            "labels": dict(service["metadata"].get("labels") or {}),
            "ownerReferences": [owner_reference(service)],
        },
        "subsets": subsets,
    }


def _subset(one: Json) -> Json:
    subset: Json = {}
    for end in one["endpoints"]:
        if end["conditions"]["terminating"]:
            continue
        kind = "addresses" if end["conditions"]["ready"] else "notReadyAddresses"
        address = {"ip": end["addresses"][0], "targetRef": end["targetRef"]}
        address |= {key: end[key] for key in ("nodeName", "hostname") if key in end}
        subset.setdefault(kind, []).append(address)
    ports = [{k: v for k, v in port.items() if v} for port in one["ports"]]
    return subset | {"ports": ports} if subset else {}


@dataclass(slots=True)
class EndpointSlices(Controlling):
    """The controller."""

    name: str = "endpointslice-controller"

    def wants(self, event: Event) -> bool:
        return event.record.key.resource in (PODS, SERVICES, SLICES)

    def step(self) -> float | None:
        by_namespace: dict[str, list[Json]] = {}
        for pod in self.objects.all(PODS):
            by_namespace.setdefault(namespace_of(pod), []).append(pod)
        wanted: dict[tuple[str, str], Json] = {}
        older: dict[tuple[str, str], Json] = {}
        leaving: set[tuple[str, str]] = set()
        for service in self.objects.all(SERVICES):
            if service["spec"].get("selector") and service["spec"].get("type") != "ExternalName":
                made = slices(service, by_namespace.get(namespace_of(service), []))
                wanted |= {(namespace_of(one), name_of(one)): one for one in made}
                older[namespace_of(service), name_of(service)] = endpoints(service, made)
                if is_leaving(service):
                    leaving |= {(namespace_of(one), name_of(one)) for one in (service, *made)}
        self._settle(wanted, leaving)
        self._settle_older(older, leaving)
        return None

    def _settle_older(self, older: dict[tuple[str, str], Json], leaving: set[tuple[str, str]]) -> None:
        """Those of deleted Services go with their owner."""
        for (namespace, name), one in older.items():
            one["subsets"] = [subset for subset in one["subsets"] if subset]
            held = self.objects.get(ENDPOINTS, name, namespace)
            if held is None:
                if (namespace, name) not in leaving:
                    self.objects.create(ENDPOINTS, one, namespace)
            elif (held.get("subsets") or []) != one["subsets"]:
                self.objects.patch(ENDPOINTS, held, {"subsets": one["subsets"]})

    def _settle(self, wanted: dict[tuple[str, str], Json], leaving: set[tuple[str, str]]) -> None:
        """What a Service that is on its way out has lost is not made again, or it would never be gone: its
        deletion in the foreground waits for its slices."""
        for held in self.objects.all(SLICES):
            one = wanted.pop((namespace_of(held), name_of(held)), None)
            if one is not None:
                self._correct(held, one)
            elif (held["metadata"].get("labels") or {}).get(_MANAGED) == MANAGER and owner_of(held):
                self.objects.delete(SLICES, held)
        for key, one in wanted.items():
            if key not in leaving:
                self.objects.create(SLICES, one, namespace_of(one))

    def _correct(self, held: Json, one: Json) -> None:
        meta = {key: one["metadata"][key] for key in ("labels", "ownerReferences")}
        parts = {key: one[key] for key in ("endpoints", "ports")}
        same = all((held.get(key) or []) == value for key, value in parts.items())
        if not same or any(held["metadata"].get(key) != value for key, value in meta.items()):
            self.objects.patch(SLICES, held, {**parts, "metadata": meta})
