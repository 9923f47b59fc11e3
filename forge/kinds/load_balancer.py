"""Load balancers: what gives Services of type LoadBalancer their addresses, one a cluster.

A KIND cluster gets MetalLB, by a manifest that is pinned; an embedded cluster does the work itself and only
takes the same objects. Where the file says nothing of a load balancer, a KIND cluster is left to its stacks
(a `url` step and `metallb-auto-pool`), and an embedded one has its pool anyway.
"""

from __future__ import annotations

from typing import Final

from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Made, Site
from forge.plan.lab_resources import BalancerResource, PinnedFile
from forge.plan.values import Change, Desired, Key, Need, Observed
from forge.spec.model import Cluster, Environment, PinnedManifest

KIND: Final = "balancer"

METALLB: Final = PinnedFile(
    url="https://raw.githubusercontent.com/metallb/metallb/v0.14.9/config/manifests/metallb-native.yaml",
    sha256="951065e85692aa106f1bb5d5a487d9306154923a794ab1d82122881cbaf588e4",
)
"""What is installed where the file asks for MetalLB and names no manifest."""


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    found = (_resource(cluster, spec, context) for cluster in spec.spec.clusters)
    return tuple(_desired(resource) for resource in found if resource is not None)


def _resource(cluster: Cluster, spec: Environment, context: Context) -> BalancerResource | None:
    """None where nothing is to be done: without a pool, or where the stacks do it."""
    pool = context.allocation.pools.get(cluster.name)
    balancer = spec.spec.network.load_balancer if spec.spec.network is not None else None
    if pool is None or cluster.driver == "existing" or (balancer is not None and balancer.type == "none"):
        return None
    if context.runtime == "embedded":
        return BalancerResource(cluster.name, pool)
    if balancer is None:
        return None
    return BalancerResource(cluster.name, pool, _manifest(balancer.manifest, context))


def _manifest(given: PinnedManifest | None, context: Context) -> PinnedFile:
    if given is None:
        return METALLB
    if given.path is None:
        return PinnedFile(url=given.url, sha256=given.sha256)
    path = f"{context.root}/{given.path}" if context.files is None else str(context.files.path(given.path))
    return PinnedFile(path=path, sha256=given.sha256)


def _desired(resource: BalancerResource) -> Desired:
    return Desired(
        key=Key(KIND, resource.cluster),
        name="metallb",
        fingerprint=fingerprint(resource),
        resource=resource,
        needs=(Need(Key("cluster", resource.cluster)),),
        in_place=True,
    )


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> Made:
    resource = desired.resource
    if not isinstance(resource, BalancerResource):
        raise TypeError(f"{desired.key} is no load balancer")
    kube = site.kube(resource.cluster)
    objects = site.balancers.install(resource, site.owner, kube, site.progress, site.cancel)
    return Made(kube.identity(), objects=objects)


def remove(observed: Observed, site: Site) -> None:
    """Its pool and announcement. What was installed stays: Services may still have their addresses."""
    site.kube(observed.key.name).delete(site.previous, owner=site.owner, cancel=site.cancel)
