"""Services: defaults, cluster addresses and node ports from their ranges, and what may change.

An address is given out at creation and returned with the Service. Node ports are numbers only: nothing
in an embedded cluster listens on them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from forge.embedded.api import status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies.service_rules import causes, ip_said, is_ip
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json, dig

_NODE_PORTS = range(30000, 32768)
_EXPOSED = ("NodePort", "LoadBalancer")


def _default(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    spec["type"] = spec.get("type") or "ClusterIP"
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        client = config.get("clientIP") or {}
        client["timeoutSeconds"] = client.get("timeoutSeconds") or 10800
        spec["sessionAffinityConfig"] = config | {"clientIP": client}
    for port in spec.get("ports") or []:
        port["protocol"] = port.get("protocol") or "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in _EXPOSED or (spec["type"] == "ClusterIP" and spec.get("externalIPs")):
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if spec["type"] != "ExternalName":
        spec["internalTrafficPolicy"] = spec.get("internalTrafficPolicy") or "Cluster"
    if spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    for ingress in dig(document, "status", "loadBalancer", "ingress") or []:
        if ingress.get("ip"):
            ingress["ipMode"] = ingress.get("ipMode") or "VIP"


def _create(cluster: Cluster, document: Json) -> None:
    document["status"] = {"loadBalancer": {}}
    if causes(document):
        return
    _allocate(cluster, document)


def _allocate(cluster: Cluster, document: Json) -> None:
    """Gives addresses and ports to a Service that is otherwise right. Raises 422."""
    spec = document["spec"]
    if spec["type"] != "ExternalName":
        _families(document)
        _address(cluster, document)
    if spec["type"] in _EXPOSED:
        _node_ports(cluster, document)


def _families(document: Json) -> None:
    spec = document["spec"]
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        why = "this cluster is not configured for dual-stack services"
        raise _refuse(document, status.wrong("spec.ipFamilyPolicy", "RequireDualStack", why))
    spec["ipFamilies"] = spec.get("ipFamilies") or ["IPv4"]
    spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"


def _address(cluster: Cluster, document: Json) -> None:
    spec = document["spec"]
    given = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if given == "None":
        spec["clusterIP"], spec["clusterIPs"] = "None", ["None"]
        return
    taken = {
        dig(r.object, "spec", "clusterIP")
        for r in cluster.store.records("services")
        if r.key.name != _me(document)
    }
    network = ipaddress.ip_network(cluster.service_cidr)
    if given:
        why = ""
        if ipaddress.ip_address(given) not in network:
            why = (
                f"the provided IP ({given}) is not in the valid range. "
                f"The range of valid IPs is {cluster.service_cidr}"
            )
        elif given in taken:
            why = "provided IP is already allocated"
        if why:
            said = f"failed to allocate IP {given}: {why}"
            raise _refuse(document, status.wrong("spec.clusterIPs", [given], said))
    else:
        given = next(_free(network, taken), "")
        if not given:
            raise status.internal("failed to allocate a serviceIP: range is full")
    spec["clusterIP"], spec["clusterIPs"] = given, [given]


def _me(document: Json) -> str:
    """Marks the Service itself among those that hold addresses; new ones hold none."""
    return document["metadata"]["name"] if document["metadata"].get("resourceVersion") else ""


def _free(network: ipaddress.IPv4Network | ipaddress.IPv6Network, taken: set[str | None]) -> Iterator[str]:
    """Free addresses from the upper part of the range, as Kubernetes keeps the lower for chosen ones."""
    hosts = network.num_addresses - 2
    start = min(max(16, hosts // 16), 256) if hosts > 32 else 1
    for offset in [*range(start, hosts + 1), *range(2, start)]:
        address = str(network.network_address + offset)
        if address not in taken:
            yield address


def _node_ports(cluster: Cluster, document: Json) -> None:
    spec = document["spec"]
    taken = {
        (port.get("nodePort"), port.get("protocol"))
        for record in cluster.store.records("services")
        if record.key.name != _me(document)
        for port in dig(record.object, "spec", "ports") or []
    }
    used = {number for number, _ in taken}
    wanted = spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts")
    for index, port in enumerate(spec.get("ports") or []):
        given = port.get("nodePort")
        if given:
            _check_node_port(
                document, f"spec.ports[{index}].nodePort", given, (given, port["protocol"]) in taken
            )
        elif wanted:
            port["nodePort"] = given = next(n for n in _NODE_PORTS if n not in used)
        used.add(given)
    local = spec.get("externalTrafficPolicy") == "Local" and spec["type"] == "LoadBalancer"
    if local and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = next(n for n in _NODE_PORTS if n not in used)


def _check_node_port(document: Json, field: str, given: int, taken: bool) -> None:
    if given not in _NODE_PORTS:
        why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
    elif taken:
        why = "provided port is already allocated"
    else:
        return
    raise _refuse(document, status.wrong(field, given, why))


def _refuse(document: Json, cause: Cause) -> status.ApiError:
    return status.invalid("", "Service", document["metadata"].get("name", ""), [cause])


def _update(cluster: Cluster, new: Json, old: Json) -> None:
    spec, before = new["spec"], old["spec"]
    if spec["type"] != "LoadBalancer":
        new["status"] = (new.get("status") or {}) | {"loadBalancer": {}}
    if spec["type"] == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            spec.pop(field, None)
    elif before.get("clusterIP") and before["type"] != "ExternalName":
        _keep_address(spec, before)
    _drop_exposure(spec, before)
    if not causes(new):
        _allocate(cluster, new)


def _keep_address(spec: Json, before: Json) -> None:
    """A Service keeps its address where the update says nothing about it."""
    if not spec.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
        spec["clusterIPs"] = spec.get("clusterIPs") or before.get("clusterIPs")
    elif not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    for field in ("ipFamilies", "ipFamilyPolicy"):
        if not spec.get(field) and before.get(field):
            spec[field] = before[field]


def _drop_exposure(spec: Json, before: Json) -> None:
    """What belonged to the old type goes with it; ports keep their node port where the type still has it."""
    if spec["type"] in _EXPOSED:
        known = {(p.get("port"), p.get("protocol")): p.get("nodePort") for p in before.get("ports") or []}
        for port in spec.get("ports") or []:
            if not port.get("nodePort") and known.get((port.get("port"), port.get("protocol"))):
                port["nodePort"] = known[port.get("port"), port.get("protocol")]
    elif before.get("type") in _EXPOSED:
        spec["ports"] = [{k: v for k, v in p.items() if k != "nodePort"} for p in spec.get("ports") or []]
        if not spec.get("externalIPs"):
            spec.pop("externalTrafficPolicy", None)
        spec.pop("healthCheckNodePort", None)
    if spec["type"] != "LoadBalancer":
        spec.pop("allocateLoadBalancerNodePorts", None)
        if before.get("type") == "LoadBalancer":
            spec.pop("loadBalancerClass", None)


def _validate_update(new: Json, old: Json) -> list[Cause]:
    found = causes(new)
    before, after = old["spec"].get("clusterIP"), new["spec"].get("clusterIP")
    both = "ExternalName" not in (old["spec"]["type"], new["spec"]["type"])
    if both and before and after != before:
        cause = status.wrong(
            "spec.clusterIPs[0]", new["spec"].get("clusterIPs") or [], "may not change once set"
        )
        found.append(cause)
    return found


def _validate_status(new: Json, _old: Json) -> list[Cause]:
    found = []
    for index, ingress in enumerate(dig(new, "status", "loadBalancer", "ingress") or []):
        if ingress.get("ip") and not is_ip(ingress["ip"]):
            field = f"status.loadBalancer.ingress[{index}].ip"
            found.append(status.wrong(field, ingress["ip"], ip_said()))
    return found


register(
    "services",
    Strategy(
        default=_default,
        create=_create,
        update=_update,
        validate=causes,
        validate_update=_validate_update,
        validate_status=_validate_status,
        has_status=True,
        object_answer=True,
    ),
)
