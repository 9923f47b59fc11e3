"""What stands in table cells that take more than one member: ports, addresses, subjects, states."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from forge.embedded.api.printers import NONE, age, at
from forge.embedded.api.values import Json, dig


def containers(part: str) -> Any:
    def cell(o: Json, _: datetime) -> str:
        found = dig(o, "spec", "template", "spec", "containers") or []
        return ",".join(c.get(part, "") for c in found)

    return cell


def ready(o: Json, _: datetime) -> str:
    return f"{dig(o, 'status', 'readyReplicas') or 0}/{dig(o, 'spec', 'replicas') or 0}"


def ports(o: Json, _: datetime) -> str:
    def port(p: Json) -> str:
        node = f":{p['nodePort']}" if p.get("nodePort") else ""
        return f"{p.get('port')}{node}/{p.get('protocol', 'TCP')}"

    return ",".join(port(p) for p in dig(o, "spec", "ports") or []) or NONE


def external(o: Json, _: datetime) -> str:
    spec = o.get("spec") or {}
    given = list(spec.get("externalIPs") or [])
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        ingress = dig(o, "status", "loadBalancer", "ingress") or []
        found = [i.get("ip") or i.get("hostname", "") for i in ingress] + given
        return ",".join(found) or "<pending>"
    return ",".join(given) or NONE


def subjects(kind: str) -> Any:
    def cell(o: Json, _: datetime) -> str:
        chosen = [s for s in o.get("subjects") or [] if s.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{s.get('namespace', '')}/{s.get('name', '')}" for s in chosen)
        return ", ".join(s.get("name", "") for s in chosen)

    return cell


def role(o: Json, _: datetime) -> str:
    return f"{dig(o, 'roleRef', 'kind')}/{dig(o, 'roleRef', 'name')}"


def event_object(o: Json, _: datetime) -> str:
    about = o.get("involvedObject") or o.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def event_source(o: Json, _: datetime) -> str:
    source = o.get("source") or o.get("deprecatedSource") or {}
    component = source.get("component") or o.get("reportingComponent") or o.get("reportingController") or ""
    host = source.get("host") or o.get("reportingInstance") or ""
    return f"{component}, {host}" if host else str(component)


def last_seen(o: Json, now: datetime) -> str:
    last = dig(o, "series", "lastObservedTime") or o.get("lastTimestamp") or o.get("deprecatedLastTimestamp")
    return age(last or first(o), now)


def first(o: Json) -> Any:
    return o.get("firstTimestamp") or o.get("deprecatedFirstTimestamp") or o.get("eventTime")


def event_count(o: Json, _: datetime) -> int:
    return int(dig(o, "series", "count") or o.get("count") or o.get("deprecatedCount") or 1)


def node_status(o: Json, _: datetime) -> str:
    conditions = {c.get("type"): c.get("status") for c in dig(o, "status", "conditions") or []}
    said = {"True": "Ready", "False": "NotReady"}.get(conditions.get("Ready", ""), "Unknown")
    return said + (",SchedulingDisabled" if dig(o, "spec", "unschedulable") else "")


def roles(o: Json, _: datetime) -> str:
    labels = dig(o, "metadata", "labels") or {}
    prefix = "node-role.kubernetes.io/"
    return ",".join(sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix))) or NONE


def address(kind: str) -> Any:
    def cell(o: Json, _: datetime) -> str:
        found = (a.get("address", "") for a in dig(o, "status", "addresses") or [] if a.get("type") == kind)
        return next(found, NONE)

    return cell


def endpoints(o: Json, _: datetime) -> str:
    found = [
        f"{a.get('ip')}:{p.get('port')}"
        for subset in o.get("subsets") or []
        for p in subset.get("ports") or [{}]
        for a in subset.get("addresses") or []
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return ",".join(found[:3]) + more if found else NONE


def slice_ports(o: Json, _: datetime) -> str:
    return ",".join(str(p.get("port", "*")) for p in o.get("ports") or []) or "<unset>"


def slice_endpoints(o: Json, _: datetime) -> str:
    found = [a for e in o.get("endpoints") or [] for a in e.get("addresses") or []]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return ",".join(found[:3]) + more if found else "<unset>"


def default_class(o: Json, _: datetime) -> str:
    name = o["metadata"].get("name", "")
    marked = (dig(o, "metadata", "annotations") or {}).get("storageclass.kubernetes.io/is-default-class")
    return f"{name} (default)" if marked == "true" else str(name)


def or_else(otherwise: str, *path: str) -> Any:
    return at(*path, otherwise=otherwise)
