"""The lab network: one a lab, owned, with the subnet that Forge chose or the file fixed."""

from __future__ import annotations

from typing import Final

from forge.plan.allocate import dynamic_range
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.resources import NetworkResource
from forge.plan.values import Change, Desired, Key, Observed, Verb
from forge.spec.model import Environment

KIND: Final = "network"
LAB = Key(KIND, "lab")


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    subnet = context.allocation.subnet
    if subnet is None:
        return ()
    name = f"{spec.metadata.name}-net"
    dynamic = None if context.runtime == "embedded" else dynamic_range(subnet)
    resource = NetworkResource(name, subnet, dynamic)
    return (Desired(LAB, name, fingerprint(resource), resource),)


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, NetworkResource):
        raise TypeError(f"{desired.key} is no network")
    if change.verb is Verb.REPLACE and observed is not None:
        site.host.remove_network(observed)
    return site.host.create_network(desired.key, resource, site.owner, desired.fingerprint)


def remove(observed: Observed, site: Site) -> None:
    site.host.remove_network(observed)
