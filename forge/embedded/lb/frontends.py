"""Where this node is to listen for Services, and where each listener leads. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forge.embedded.api.values import Json, dig
from forge.embedded.lb import pools
from forge.embedded.lb.pools import Pool

SERVICE = "kubernetes.io/service-name"
Address = tuple[str, int]


class Frontend(NamedTuple):
    """protocol: TCP or UDP."""

    protocol: str
    address: str
    port: int


def frontends(
    services: Sequence[Json], slices: Sequence[Json], known: Sequence[Pool], node: str
) -> Mapping[Frontend, tuple[tuple[Address, ...], Json]]:
    """Each listener with its ready endpoints and its Service. node: the address of node ports."""
    ends = _endpoints(slices)
    wanted: dict[Frontend, tuple[tuple[Address, ...], Json]] = {}
    for service in services:
        place = (service["metadata"].get("namespace", ""), service["metadata"]["name"])
        for port in service["spec"].get("ports") or []:
            protocol = port.get("protocol") or "TCP"
            leads = ends.get((*place, protocol, port.get("name") or ""), ())
            for address, number in _listeners(service, port, known, node):
                wanted.setdefault(Frontend(protocol, address, number), (leads, service))
    return wanted


def _listeners(service: Json, port: Json, known: Sequence[Pool], node: str) -> list[Address]:
    spec = service["spec"]
    found: list[Address] = []
    if spec.get("clusterIP") not in (None, "", "None"):
        found.append((spec["clusterIP"], port["port"]))
    if port.get("nodePort"):
        found.append((node, port["nodePort"]))
    outer = (*balanced(service, known), *(spec.get("externalIPs") or []))
    return found + [(address, port["port"]) for address in outer]


def balanced(service: Json, known: Sequence[Pool]) -> list[str]:
    """The Service's load-balancer addresses that somebody advertises."""
    return [a for a in pools.current(service) if any(p.advertised and p.holds(a) for p in known)]


def _endpoints(slices: Sequence[Json]) -> dict[tuple[str, str, str, str], tuple[Address, ...]]:
    """(namespace, Service, protocol, name of the port) to the ready endpoints."""
    found: dict[tuple[str, str, str, str], list[Address]] = {}
    for one in slices:
        service = (one["metadata"].get("labels") or {}).get(SERVICE)
        if not service:
            continue
        for port in one.get("ports") or []:
            key = (
                one["metadata"].get("namespace", ""),
                service,
                port.get("protocol") or "TCP",
                port.get("name") or "",
            )
            held = found.setdefault(key, [])
            held += [
                (str(address), int(port["port"]))
                for endpoint in one.get("endpoints") or []
                if dig(endpoint, "conditions", "ready") is not False
                for address in endpoint["addresses"]
                if port.get("port")
            ]
    return {key: tuple(dict.fromkeys(ends)) for key, ends in found.items()}
