"""Pods: the defaults of their spec, what admission adds to a new one, and when it is well formed.

`default_spec` and `spec_causes` serve pod templates too.
"""

from __future__ import annotations

import copy
from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategies import admission
from forge.embedded.api.strategies.containers import container_causes, default_container
from forge.embedded.api.strategy import Strategy, register
from forge.embedded.api.values import Json, dig

_DEFAULT_MODE = 420
_GRACE_S = 30
# The order in which the real server looks at the kinds of a volume.
_KINDS_IN_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "secret",
    "nfs",
    "persistentVolumeClaim",
    "configMap",
    "downwardAPI",
    "projected",
)
_POLICIES = ("Always", "OnFailure", "Never")


def default_spec(spec: Json) -> None:
    """Fills the defaults of a pod spec, in a pod or a template."""
    for volume in spec.get("volumes") or []:
        _default_volume(volume)
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or []:
            default_container(container)
    _set(spec, "restartPolicy", "Always")
    _set(spec, "terminationGracePeriodSeconds", _GRACE_S)
    _set(spec, "dnsPolicy", "ClusterFirst")
    _set(spec, "securityContext", {})
    _set(spec, "schedulerName", "default-scheduler")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _set(document: Json, field: str, value: Any) -> None:
    if document.get(field) is None:
        document[field] = copy.copy(value)


def _default_volume(volume: Json) -> None:
    if len(volume) <= 1:
        volume["emptyDir"] = {}
    for kind in ("configMap", "secret", "downwardAPI", "projected"):
        if volume.get(kind) is not None:
            _set(volume[kind], "defaultMode", _DEFAULT_MODE)
    if volume.get("hostPath") is not None:
        _set(volume["hostPath"], "type", "")
    for item in dig(volume, "downwardAPI", "items") or []:
        _default_field_ref(item)
    for source in dig(volume, "projected", "sources") or []:
        if source.get("serviceAccountToken") is not None:
            _set(source["serviceAccountToken"], "expirationSeconds", 3600)
        for item in dig(source, "downwardAPI", "items") or []:
            _default_field_ref(item)


def _default_field_ref(item: Json) -> None:
    if item.get("fieldRef") is not None:
        _set(item["fieldRef"], "apiVersion", "v1")


def spec_causes(spec: Json, path: str) -> list[Cause]:
    """What is wrong with a pod spec that stands at *path*."""
    # A volume of two kinds at once is none that could be mounted.
    volumes = {v.get("name", "") for v in spec.get("volumes") or [] if len(v) <= 2}
    found = _volume_causes(spec.get("volumes") or [], f"{path}.volumes")
    containers = spec.get("containers") or []
    if not containers:
        found.append(status.missing(f"{path}.containers"))
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place = f"{path}.containers[{index}]"
        found += container_causes(container, place, volumes)
        if container.get("name") in seen:
            found.append(status.doubled(f"{place}.name", container["name"]))
        seen.add(container.get("name", ""))
    for index, container in enumerate(spec.get("initContainers") or []):
        found += container_causes(container, f"{path}.initContainers[{index}]", volumes)
    return found


def _volume_causes(volumes: list[Json], path: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        name, place = volume.get("name", ""), f"{path}[{index}]"
        if not name:
            found.append(status.missing(f"{place}.name"))
        else:
            found += [status.wrong(f"{place}.name", name, w) for w in names.label(name)]
        kinds = [k for k in _KINDS_IN_ORDER if volume.get(k) is not None]
        found += [status.denied(f"{place}.{k}", "may not specify more than 1 volume type") for k in kinds[1:]]
        if name in seen:
            found.append(status.doubled(f"{place}.name", name))
        seen.add(name)
    return found


def restart_causes(spec: Json, path: str, allowed: tuple[str, ...]) -> list[Cause]:
    policy = spec.get("restartPolicy")
    if policy in allowed:
        return []
    return [status.unsupported(f"{path}.restartPolicy", policy, allowed)]


def spread_warnings(spec: Json, path: str) -> list[str]:
    """A spread without a selector does nothing, which few people mean."""
    said = "a null labelSelector results in matching no pod"
    return [
        f"{path}.topologySpreadConstraints[{index}].labelSelector: {said}"
        for index, constraint in enumerate(spec.get("topologySpreadConstraints") or [])
        if constraint.get("labelSelector") is None
    ]


def _warn(document: Json) -> list[str]:
    return spread_warnings(document.get("spec") or {}, "spec")


def _default(document: Json) -> None:
    spec = document.get("spec") or {}
    document["spec"] = spec
    _set(spec, "enableServiceLinks", value=True)
    default_spec(spec)
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        _default_requests(container.get("resources") or {})


def _default_requests(resources: Json) -> None:
    """A pod asks for what it is limited to, where it says nothing else."""
    limits = resources.get("limits") or {}
    missing = {k: v for k, v in limits.items() if k not in (resources.get("requests") or {})}
    if missing:
        resources["requests"] = (resources.get("requests") or {}) | missing


def _create(cluster: Cluster, document: Json) -> None:
    spec = document["spec"]
    document["status"] = {"phase": "Pending", "qosClass": admission.quality(spec)}
    _set(spec, "serviceAccountName", "default")
    spec["serviceAccount"] = spec["serviceAccountName"]
    admission.need_account(cluster, document)
    admission.mount_access(cluster, spec)
    admission.tolerate(spec)
    _set(spec, "priority", 0)
    _set(spec, "preemptionPolicy", "PreemptLowerPriority")


def _validate(document: Json) -> list[Cause]:
    spec = document.get("spec") or {}
    found = spec_causes(spec, "spec") + restart_causes(spec, "spec", _POLICIES)
    found += _placement_causes(spec)
    for index, container in enumerate(spec.get("containers") or []):
        image = container.get("image", "")
        if image != image.strip():
            why = "must not have leading or trailing whitespace"
            found.append(status.wrong(f"spec.containers[{index}].image", image, why))
    return found


def _placement_causes(spec: Json) -> list[Cause]:
    """What is wrong with where a pod may run, and how it looks up names."""
    found = [
        status.wrong("spec.nodeSelector", key, w)
        for key in spec.get("nodeSelector") or {}
        for w in names.qualified(key)
    ]
    if spec.get("dnsPolicy") == "None" and not spec.get("dnsConfig"):
        found.append(status.missing("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"))
    for index, toleration in enumerate(spec.get("tolerations") or []):
        operator = toleration.get("operator") or "Equal"
        if not toleration.get("key") and operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(status.wrong(f"spec.tolerations[{index}].operator", operator, why))
    return found


# What an update may change of a pod's spec.
_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "nodeName")


def _validate_update(new: Json, old: Json) -> list[Cause]:
    found = _validate(new)
    if _fixed(new["spec"]) != _fixed(old["spec"]):
        why = (
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
            "`spec.tolerations` (only additions to existing tolerations),"
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
        )
        found.append(status.denied("spec", why))
    return found


def _fixed(spec: Json) -> Json:
    kept = {k: v for k, v in spec.items() if k not in _MUTABLE}
    for kind in ("containers", "initContainers"):
        if kind in kept:
            kept[kind] = [{k: v for k, v in c.items() if k != "image"} for c in kept[kind] or ()]
    return kept


def _grace(document: Json) -> int | None:
    """An unscheduled or finished pod goes at once."""
    if not dig(document, "spec", "nodeName") or dig(document, "status", "phase") in ("Succeeded", "Failed"):
        return None
    return int(dig(document, "spec", "terminationGracePeriodSeconds") or 0)


register(
    "pods",
    Strategy(
        default=_default,
        create=_create,
        warn=_warn,
        validate=_validate,
        validate_update=_validate_update,
        has_status=True,
        object_answer=True,
        graceful=_grace,
    ),
)
