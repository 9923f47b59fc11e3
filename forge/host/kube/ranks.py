"""In which order objects are sent: what others need first. Deleted the other way round. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from forge.host.kube.names import BUILTIN, CRD
from forge.plan.lab_ports import Object

_DEFINITIONS = ("Namespace", CRD)
_WORKLOADS = ("Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")
_INTERCEPTORS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")


def rank(api_version: str, kind: str) -> int:
    """0 definitions, 1 what others refer to, 2 what runs, 3 custom objects, 4 webhooks, which stop
    everything once they are there and what answers for them is not."""
    if kind in _DEFINITIONS:
        return 0
    if kind in _INTERCEPTORS:
        return 4
    if kind in _WORKLOADS:
        return 2
    group = api_version.rpartition("/")[0]
    builtin = BUILTIN.kind(api_version, kind) is not None or "." not in group or group.endswith(".k8s.io")
    return 1 if builtin else 3


def ranked(objects: Sequence[Object]) -> list[list[int]]:
    """Indices of the objects by rank, in the order given within each; no rank is empty."""
    ranks: dict[int, list[int]] = {}
    for index, thing in enumerate(objects):
        ranks.setdefault(rank(str(thing.get("apiVersion")), str(thing.get("kind"))), []).append(index)
    return [ranks[number] for number in sorted(ranks)]


def defined(objects: Sequence[Object]) -> frozenset[tuple[str, str]]:
    """(apiVersion, kind) of every kind that the definitions among the objects bring."""
    found = set()
    for thing in objects:
        if thing.get("kind") == CRD:
            spec = thing.get("spec") or {}
            for version in spec.get("versions") or ():
                if isinstance(version, dict) and version.get("served", True):
                    kind = str((spec.get("names") or {}).get("kind"))
                    found.add((f"{spec.get('group')}/{version.get('name')}", kind))
    return frozenset(found)
