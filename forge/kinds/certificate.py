"""Certificates of the lab: issued by its authorities, renewed in place before they end."""

from __future__ import annotations

import posixpath
from typing import Final

from forge.errors import UsageError
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.lab_resources import LeafResource
from forge.plan.material import shared, unsayable
from forge.plan.values import Change, Desired, Key, Need, Observed
from forge.spec.certificates import Leaf
from forge.spec.model import Environment
from forge.spec.shape import seconds

KIND: Final = "certificate"


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """Raises UsageError FG0775, naming everything that a certificate cannot carry, and FG0787 for those
    that would take each other's place."""
    leaves = spec.spec.certificates.leaves if spec.spec.certificates else ()
    resources = tuple(_resource(leaf, context) for leaf in leaves)
    wrong = [f"certificate {r.name}: {what}" for r in resources for what in unsayable(r)]
    if wrong:
        raise UsageError(
            "FG0775",
            "a certificate cannot carry its names",
            why="; ".join(wrong),
            hint="correct spec.certificates.leaves",
            changed=False,
        )
    _refuse_shared(spec, resources, context)
    return tuple(map(_desired, resources))


def _refuse_shared(spec: Environment, leaves: tuple[LeafResource, ...], context: Context) -> None:
    authorities = spec.spec.certificates.authorities if spec.spec.certificates else ()
    places = [(f"authority {a.name}", f"{context.state_dir}/runtime/certs/{a.name}") for a in authorities]
    wrong = list(shared([*places, *((f"certificate {leaf.name}", leaf.directory) for leaf in leaves)]))
    if wrong:
        raise UsageError(
            "FG0787",
            "two certificates would take each other's place",
            why="; ".join(wrong),
            hint="give each its own `directory`",
            changed=False,
        )


def _desired(resource: LeafResource) -> Desired:
    """An authority that is certified anew is followed: ca.crt beside the leaf must be its own."""
    authority = Key("authority", resource.authority)
    return Desired(
        key=Key(KIND, resource.name),
        name=resource.directory,
        fingerprint=fingerprint(resource),
        resource=resource,
        needs=(Need(authority),),
        in_place=True,
        follows=(authority,),
    )


def _resource(leaf: Leaf, context: Context) -> LeafResource:
    return LeafResource(
        name=leaf.name,
        authority=leaf.authority,
        common_name=leaf.common_name or leaf.name,
        organization=leaf.organization,
        dns=leaf.sans.dns,
        ip=leaf.sans.ip,
        uri=leaf.sans.uri,
        usages=leaf.usages,
        lifetime_s=seconds(leaf.lifetime),
        directory=_directory(leaf, context),
    )


def _directory(leaf: Leaf, context: Context) -> str:
    """`.forge/...` is the state directory, wherever that is."""
    path = posixpath.normpath(leaf.directory or f".forge/runtime/certs/{leaf.name}")
    first, _, rest = path.partition("/")
    return posixpath.join(context.state_dir, rest) if first == ".forge" else f"{context.root}/{path}"


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, LeafResource):
        raise TypeError(f"{desired.key} is no certificate")
    return site.material.make_leaf(resource, desired.fingerprint)


def remove(observed: Observed, site: Site) -> None:
    site.material.remove(observed.key)
