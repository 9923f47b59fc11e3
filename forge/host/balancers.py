"""The Balancers port: MetalLB in KIND clusters, and the same two objects in embedded ones.

    manifest ──► controller available ──► pool and announcement, until MetalLB's webhook lets them pass

A controller that is available does not serve its webhook yet, for a few seconds or half a minute. That the
objects are accepted is the only sign that it does, so they are sent again as long as the refusal may pass.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from forge.errors import Interrupted, OperationFailed
from forge.host import pinned
from forge.plan import metallb
from forge.plan.lab_ports import Kube, Object, ObjectRef
from forge.plan.lab_resources import BalancerResource, PinnedFile
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Owner

NAMESPACE = metallb.NAMESPACE
POOL = "forge-pool"
_VERSION = metallb.VERSION
_ACCEPT_S = 180.0
_AVAILABLE_S = 300.0
"""An image of 60 MB must come through a slow line first."""

_FIRST_S = 0.5
_SLOWEST_S = 5.0


class MetalLB:
    """available_s, accept_s: how long its controllers, and its webhook after them, are waited for."""

    def __init__(self, available_s: float = _AVAILABLE_S, accept_s: float = _ACCEPT_S) -> None:
        self._available_s = available_s
        self._accept_s = accept_s

    def install(
        self, wanted: BalancerResource, owner: Owner, kube: Kube, progress: Progress, cancel: Cancel
    ) -> tuple[ObjectRef, ...]:
        if wanted.manifest is not None:
            self._install(wanted.manifest, wanted.cluster, owner, kube, progress, cancel)
        return self._accepted(wanted, owner, kube, progress, cancel)

    def _install(
        self,
        manifest: PinnedFile,
        cluster: str,
        owner: Owner,
        kube: Kube,
        progress: Progress,
        cancel: Cancel,
    ) -> None:
        objects = documents(pinned.read(manifest, os.environ, progress), manifest)
        progress(f"applying MetalLB ({len(objects)} objects)")
        kube.apply(objects, owner=owner, progress=progress, cancel=cancel)
        for name in (o["metadata"]["name"] for o in objects if o.get("kind") == "Deployment"):
            progress(f"waiting for deployment {name}")
            self._wait(cluster, name, kube, cancel)

    def _wait(self, cluster: str, name: str, kube: Kube, cancel: Cancel) -> None:
        found: Object | None = None
        watch = kube.watch(
            "apps/v1", "Deployment", NAMESPACE, name, cancel=cancel, timeout_s=self._available_s
        )
        for found in watch:
            if found is not None and is_available(found):
                return
        if cancel.is_set():
            raise _stopped(cluster)
        why = f"{_replicas(found)} after {self._available_s:.0f} s"
        raise _not_ready(
            cluster, f"deployment {NAMESPACE}/{name}", why, kube.events(NAMESPACE, "Deployment", name)
        )

    def _accepted(
        self, wanted: BalancerResource, owner: Owner, kube: Kube, progress: Progress, cancel: Cancel
    ) -> tuple[ObjectRef, ...]:
        until, pause, said = time.monotonic() + self._accept_s, _FIRST_S, ""
        while True:
            try:
                refs = kube.apply(objects_of(wanted), owner=owner, progress=progress, cancel=cancel)
                return tuple(ref for ref in refs if ref.kind in metallb.KINDS)
            except OperationFailed as refused:
                if not (refused.may_pass and "webhook" in refused.why):
                    raise
                if cancel.is_set():
                    raise _stopped(wanted.cluster) from refused
                if time.monotonic() > until:
                    why = refused.why or refused.what
                    raise _not_ready(wanted.cluster, "its webhook", why, ()) from refused
                if refused.why != said:
                    said = refused.why
                    progress(f"waiting for MetalLB's webhook ({said})")
            if cancel.wait(pause):
                raise _stopped(wanted.cluster)
            pause = min(_SLOWEST_S, pause * 1.5)


def objects_of(wanted: BalancerResource) -> list[Object]:
    """The pool, the announcement of this pool alone, and their namespace and kinds where no manifest
    makes them."""
    return [
        *(metallb.definitions() if wanted.manifest is None else ()),
        {
            "apiVersion": _VERSION,
            "kind": "IPAddressPool",
            "metadata": {"name": POOL, "namespace": NAMESPACE},
            "spec": {"addresses": [wanted.pool]},
        },
        {
            "apiVersion": _VERSION,
            "kind": "L2Advertisement",
            "metadata": {"name": POOL, "namespace": NAMESPACE},
            "spec": {"ipAddressPools": [POOL]},
        },
    ]


def documents(data: bytes, manifest: PinnedFile) -> list[Object]:
    """The objects of a manifest. Raises OperationFailed FG0714 for what is none."""
    import yaml

    where = manifest.path or manifest.url or ""
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        found: list[Any] = [d for d in yaml.load_all(data, loader) if d is not None]
    except yaml.YAMLError as error:
        raise _no_manifest(where, str(error).splitlines()[0]) from error
    for document in found:
        if not (isinstance(document, dict) and document.get("kind") and _name(document)):
            raise _no_manifest(where, "a document of it is no object with a kind and a name")
    return found


def _name(document: Object) -> Any:
    metadata = document.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def is_available(deployment: Object) -> bool:
    """Whether all its pods of its present form are."""
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return bool(seen and (status.get("availableReplicas") or 0) >= spec.get("replicas", 1))


def _replicas(deployment: Object | None) -> str:
    if deployment is None:
        return "it is not there"
    status, spec = deployment.get("status") or {}, deployment.get("spec") or {}
    return f"{status.get('availableReplicas') or 0} of {spec.get('replicas', 1)} pods are available"


def _not_ready(cluster: str, what: str, why: str, events: Sequence[str]) -> OperationFailed:
    return OperationFailed(
        "FG0716",
        f"the load balancer of cluster {cluster!r} did not become ready: {what}",
        why=why,
        hint=f"look at it: praxis-forge cluster kubectl {cluster} -- -n {NAMESPACE} get pods,events",
        changed=True,
        detail=tuple(events),
    )


def _no_manifest(where: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0714",
        f"{where} is no manifest",
        why=why,
        hint="name a YAML file of Kubernetes objects in spec.network.loadBalancer.manifest",
        changed=False,
    )


def _stopped(cluster: str) -> Interrupted:
    return Interrupted("FG0720", f"installing the load balancer of {cluster!r} was stopped", signal_number=2)
