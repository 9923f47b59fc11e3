"""Workloads held down on purpose, and let go again. No resource of the file: see forge/plan/faults.py.

A workload is held down by its replicas: none of its pods comes back by itself. `stop` lets its pods
end in order. `kill` marks them first, so that Forge's own kubelet sends SIGKILL and nothing else, and
deletes them without grace once no others will take their place. (Kubelets of others know no such mark:
they send SIGTERM, and SIGKILL two seconds later.)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from forge.errors import Interrupted, Unhealthy
from forge.plan.faults import API_VERSION, Fault, How
from forge.plan.kind import Site
from forge.plan.lab_ports import Kube, Object, ObjectRef
from forge.stack.conditions import Standing, judge, parse_condition

WITHOUT_WARNING: Final = "dev.praxis.forge/kill"
"""Annotation of a pod: when it is deleted, its processes get SIGKILL and nothing before it. Forge's own
kubelet (forge/embedded/node) knows it."""

READY_S: Final = 300.0
"""How long a workload may take to be available again, if the step's own time does not end before."""

_AVAILABLE = parse_condition("available")


def replicas(workload: Object) -> int:
    """How many it asks for; Kubernetes takes one where it does not say."""
    found = (workload.get("spec") or {}).get("replicas")
    return 1 if found is None else int(found)


def generation(workload: Object) -> int:
    return int((workload.get("metadata") or {}).get("generation") or 0)


def find(fault: Fault, kube: Kube) -> Object | None:
    """The workload, if it is the one that was held down."""
    target = fault.target
    found = kube.get(API_VERSION, target.kind, target.namespace or "", target.name)
    return found if found is not None and found["metadata"]["uid"] == fault.uid else None


def hold(fault: Fault, site: Site) -> None:
    """Takes its pods away and keeps them away. Raises Interrupted FG0406 when cancelled, Unhealthy
    FG0782 where they do not end in time; it stays held down then."""
    kube = site.kube(fault.target.cluster)
    workload = find(fault, kube)
    if workload is None:
        return
    selector = _selector(workload)
    doomed = _marked(kube, fault, selector) if fault.how is How.KILL else ()
    if replicas(workload):
        _scale(kube, fault, 0)
    if doomed:
        kube.delete(doomed, grace_s=0, cancel=site.cancel)
    _await_end(kube, fault, selector, site)


def restore(fault: Fault, site: Site) -> int | None:
    """Gives it its replicas back and waits until it is available. Gives its generation where nobody
    else changed it meanwhile, else None. One that is gone, or was scaled by somebody, is left."""
    kube = site.kube(fault.target.cluster)
    workload = find(fault, kube)
    if workload is None or replicas(workload):
        site.progress("it is gone" if workload is None else "it is up already")
        return None
    untouched = generation(workload) == fault.generation + 1
    scaled = generation(_scale(kube, fault, fault.replicas))
    _await_available(kube, fault, site)
    return scaled if untouched else None


def _scale(kube: Kube, fault: Fault, count: int) -> Object:
    target = fault.target
    change = {"spec": {"replicas": count}}
    return kube.patch(API_VERSION, target.kind, target.namespace or "", target.name, change)


def _marked(kube: Kube, fault: Fault, selector: str) -> tuple[ObjectRef, ...]:
    """Its pods, marked to be killed."""
    namespace = fault.target.namespace or ""
    mark = {"metadata": {"annotations": {WITHOUT_WARNING: "true"}}}
    found = [pod["metadata"] for pod in kube.find("pods", namespace, selector=selector)]
    for meta in found:
        kube.patch("v1", "Pod", namespace, meta["name"], mark)
    return tuple(ObjectRef("v1", "Pod", namespace, meta["name"], meta["uid"]) for meta in found)


def _await_end(kube: Kube, fault: Fault, selector: str, site: Site) -> None:
    told, wait = -1, 0.02
    while left := len(kube.find("pods", fault.target.namespace or "", selector=selector)):
        if left != told:
            told = left
            site.progress(f"{left} pod{'s' if left > 1 else ''} still ending")
        if site.cancel.wait(wait):
            raise (
                _late(fault, f"{left} of its pods had not ended")
                if _is_late(site)
                else Interrupted("FG0406", f"{fault} was stopped", signal_number=2)
            )
        wait = min(wait * 1.5, 0.5)


def _is_late(site: Site) -> bool:
    """Whether a time limit, not a person, ended it."""
    return bool(getattr(site.cancel, "is_late", False))


def _await_available(kube: Kube, fault: Fault, site: Site) -> None:
    target, told, begun = fault.target, "", time.monotonic()
    looks = kube.watch(
        API_VERSION, target.kind, target.namespace or "", target.name, cancel=site.cancel, timeout_s=READY_S
    )
    for workload in looks:
        if workload is None:
            return
        verdict = judge(_AVAILABLE, [workload])
        if verdict.standing is Standing.HOLDS:
            return
        if verdict.standing is Standing.LOST:
            raise _late(fault, verdict.reason)
        if verdict.reason != told:
            told = verdict.reason
            site.progress(told)
    if site.cancel.is_set() and not _is_late(site):
        raise Interrupted("FG0406", f"ending {fault} was stopped", signal_number=2)
    raise _late(fault, f"not available after {time.monotonic() - begun:.0f} s: {told}")


def _late(fault: Fault, why: str) -> Unhealthy:
    return Unhealthy(
        "FG0782",
        f"{fault.name} is not as it should be",
        why=why,
        hint="see its pods with: praxis-forge cluster kubectl "
        f"{fault.target.cluster} -- -n {fault.target.namespace} get pods",
        changed=True,
    )


def _selector(workload: Object) -> str:
    """Its label selector as a query takes it."""
    selector = (workload.get("spec") or {}).get("selector") or {}
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    return ",".join([*terms, *map(_term, selector.get("matchExpressions") or ())])


def _term(expression: Mapping[str, Any]) -> str:
    key, values = expression["key"], ",".join(expression.get("values") or ())
    match expression["operator"]:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"
