"""Images on the nodes of KIND clusters, where pods find them without asking a registry.

They are looked at on the nodes themselves: what is there under the reference, and is the image that the
engine has, stays. An embedded cluster has no images, but processes that stand for them.
"""

from __future__ import annotations

from typing import Final

from forge.errors import UsageError
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.lab_resources import ClusterResource, Driver, LoadResource
from forge.plan.values import Change, Desired, Key, Need, Observed
from forge.spec.model import Environment

KIND: Final = "load"


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """Raises UsageError FG0719 for an image that is to go into clusters of somebody else's by name."""
    if context.runtime == "embedded":
        return ()
    _refuse_existing(spec)
    own = [c.name for c in spec.spec.clusters if c.driver != "existing"]
    prefix = spec.spec.runtime.cluster_prefix
    return tuple(
        _desired(LoadResource(image.name, cluster, f"{prefix}-{cluster}"))
        for cluster in own
        for image in spec.spec.images
        if image.is_loaded_into(cluster)
    )


def _refuse_existing(spec: Environment) -> None:
    existing = {c.name for c in spec.spec.clusters if c.driver == "existing"}
    wrong = [f"image {i.name!r} into {c!r}" for i in spec.spec.images for c in i.load if c in existing]
    if wrong:
        raise UsageError(
            "FG0719",
            "an image cannot be loaded into a cluster that Forge did not make",
            why="; ".join(wrong),
            hint="push it to a registry that this cluster pulls from, and take the cluster out of `load`",
            changed=False,
        )


def _desired(resource: LoadResource) -> Desired:
    image, cluster = Key("image", resource.reference), Key("cluster", resource.cluster)
    return Desired(
        key=Key(KIND, f"{resource.cluster}/{resource.reference}"),
        name=resource.reference,
        fingerprint=fingerprint(resource),
        resource=resource,
        needs=(Need(cluster), Need(image)),
        owned=False,
        follows=(image,),
    )


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, LoadResource):
        raise TypeError(f"{desired.key} is no image on nodes")
    cluster = ClusterResource(resource.cluster, resource.full_name, Driver.KIND)
    return site.images.load(resource.reference, (cluster,), site.progress, site.cancel)


def remove(observed: Observed, site: Site) -> None:
    """Nothing: an image on a node may be in use, and goes with the cluster."""
