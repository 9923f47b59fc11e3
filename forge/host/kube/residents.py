"""What stands in a namespace that somebody put there: every kind that is served is listed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from forge.host.kube.apply import ref
from forge.host.kube.exchange import METADATA_LIST, Exchange
from forge.host.kube.names import ApiResource
from forge.host.kube.together import together
from forge.plan.lab_ports import Object, ObjectRef

_AT_ONCE = 8
_REPORTS: Final = frozenset({("", "Event"), ("events.k8s.io", "Event"), ("metrics.k8s.io", "PodMetrics")})
"""Group and kind of what only tells of other things."""
_OWN: Final = frozenset(
    {
        ("ConfigMap", "kube-root-ca.crt"),
        ("ConfigMap", "openshift-service-ca.crt"),
        ("ServiceAccount", "default"),
    }
)
"""Kind and name of what controllers put into every namespace."""
_ACCOUNT: Final = "kubernetes.io/service-account.name"
"""On the token of a ServiceAccount, which clusters before 1.24 made by themselves."""


def residents(exchange: Exchange, namespace: str) -> tuple[ObjectRef, ...]:
    """See forge/plan/lab_ports.py."""
    kinds: dict[tuple[str, str], ApiResource] = {}
    for resource in exchange.index(fresh=True).resources:
        if resource.namespaced and resource.listed:
            kinds.setdefault((resource.group, resource.kind), resource)

    def one(resource: ApiResource) -> list[ObjectRef]:
        return list(_of_kind(exchange, resource, namespace))

    asked = [resource for kind, resource in kinds.items() if kind not in _REPORTS]
    return tuple(found for part in together(one, asked, _AT_ONCE) for found in part)


def _of_kind(exchange: Exchange, resource: ApiResource, namespace: str) -> Iterator[ObjectRef]:
    what = f"list {resource.plural} of namespace {namespace}"
    for thing in exchange.list(resource.path(namespace), {}, what, METADATA_LIST):
        if not comes_by_itself(resource.kind, thing):
            yield ref(thing, resource)


def comes_by_itself(kind: str, thing: Object) -> bool:
    """Whether the cluster made it with its namespace, or it is going anyway."""
    meta = thing["metadata"]
    account = (meta.get("annotations") or {}).get(_ACCOUNT)
    return (
        bool(meta.get("deletionTimestamp"))
        or (kind, meta["name"]) in _OWN
        or (kind == "Secret" and account == "default")
    )
