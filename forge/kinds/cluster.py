"""Kubernetes clusters: KIND ones on an engine, embedded ones without, existing ones as they are.

Left out of the fingerprint is what changes nothing that was made: the pool, which the load balancer's own
objects carry, and what stands for which image, which an embedded cluster reads anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from forge.errors import UsageError
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Change, Desired, Key, Need, Observed, Verb
from forge.spec.model import Cluster, Environment

KIND: Final = "cluster"
_LAB = Key("network", "lab")


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """Raises UsageError FG0718, naming every cluster whose driver this runtime does not have."""
    resources = tuple(_resource(cluster, spec, context) for cluster in spec.spec.clusters)
    _refuse_unfit(resources, context.runtime)
    return tuple(_desired(resource, spec, context) for resource in resources)


def driver_of(cluster: Cluster, runtime: str) -> Driver:
    """As the file says; where it says nothing, what the runtime has."""
    if cluster.driver is not None:
        return Driver(cluster.driver)
    return Driver.EMBEDDED if runtime == "embedded" else Driver.KIND


def _resource(cluster: Cluster, spec: Environment, context: Context) -> ClusterResource:
    driver = driver_of(cluster, context.runtime)
    full_name = f"{spec.spec.runtime.cluster_prefix}-{cluster.name}"
    pool = context.allocation.pools.get(cluster.name)
    match driver:
        case Driver.KIND:
            return ClusterResource(
                cluster.name,
                full_name,
                driver,
                control_planes=cluster.nodes.control_planes,
                workers=cluster.nodes.workers,
                node_image=cluster.node_image,
                kind_config=cluster.kind_config or {},
                network=f"{spec.metadata.name}-net" if context.allocation.subnet is not None else None,
                pool=pool,
            )
        case Driver.EMBEDDED:
            images = {image.name: image.process for image in spec.spec.images if image.process is not None}
            block = context.allocation.blocks.get(cluster.name)
            return ClusterResource(cluster.name, full_name, driver, block=block, pool=pool, images=images)
        case Driver.EXISTING:
            return ClusterResource(cluster.name, full_name, driver, context=cluster.context)


def _refuse_unfit(resources: tuple[ClusterResource, ...], runtime: str) -> None:
    unfit = {Driver.KIND: "embedded", Driver.EMBEDDED: "docker"}
    wrong = [r for r in resources if unfit.get(r.driver) == runtime]
    if wrong:
        raise UsageError(
            "FG0718",
            f"not every cluster can be made on the {runtime} runtime",
            why="; ".join(f"cluster {r.name!r} has driver: {r.driver}" for r in wrong),
            hint="leave driver out, and the runtime's own is taken; or choose another --runtime",
            changed=False,
        )


def _desired(resource: ClusterResource, spec: Environment, context: Context) -> Desired:
    on_network = resource.driver is not Driver.EXISTING and context.allocation.subnet is not None
    needs = [Need(_LAB)] if on_network else []
    if resource.node_image is not None and _is_made_here(resource.node_image, spec):
        needs.append(Need(Key("image", resource.node_image)))
    return Desired(
        key=Key(KIND, resource.name),
        name=resource.full_name,
        fingerprint=fingerprint(replace(resource, pool=None, images={})),
        resource=resource,
        needs=tuple(sorted(needs)),
        replaces_with=(_LAB,) if on_network and resource.driver is Driver.KIND else (),
    )


def _is_made_here(reference: str, spec: Environment) -> bool:
    return any(image.name == reference and image.build is not None for image in spec.spec.images)


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, ClusterResource):
        raise TypeError(f"{desired.key} is no cluster")
    clusters = site.clusters
    if change.verb is Verb.START and observed is not None:
        clusters.start(observed, resource, site.progress, site.cancel)
        return observed.id
    if change.verb is Verb.REPLACE and observed is not None and not observed.kept:
        clusters.remove(observed, resource.full_name, site.cancel)
    return clusters.create(desired.key, resource, site.owner, desired.fingerprint, site.progress, site.cancel)


def remove(observed: Observed, site: Site) -> None:
    """The name that it has on the engine is known from its own folder."""
    site.clusters.remove(observed, "", site.cancel)
