"""Certificate authorities of the lab: made once, kept as long as their subject stays."""

from __future__ import annotations

from typing import Final

from forge.errors import UsageError
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.lab_resources import AuthorityResource
from forge.plan.material import unsayable
from forge.plan.values import Change, Desired, Key, Observed
from forge.spec.certificates import Authority
from forge.spec.model import Environment
from forge.spec.shape import seconds

KIND: Final = "authority"


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """Raises UsageError FG0775, naming everything that a certificate cannot carry."""
    authorities = spec.spec.certificates.authorities if spec.spec.certificates else ()
    resources = tuple(_resource(authority, context) for authority in authorities)
    wrong = [f"authority {r.name}: {what}" for r in resources for what in unsayable(r)]
    if wrong:
        raise UsageError(
            "FG0775",
            "an authority cannot carry its names",
            why="; ".join(wrong),
            hint="correct spec.certificates.authorities",
            changed=False,
        )
    return tuple(Desired(Key(KIND, r.name), r.directory, fingerprint(r), r, in_place=True) for r in resources)


def _resource(authority: Authority, context: Context) -> AuthorityResource:
    return AuthorityResource(
        name=authority.name,
        common_name=authority.common_name or authority.name,
        organization=authority.organization,
        lifetime_s=seconds(authority.lifetime),
        directory=f"{context.state_dir}/runtime/certs/{authority.name}",
    )


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, AuthorityResource):
        raise TypeError(f"{desired.key} is no authority")
    return site.material.make_authority(resource, desired.fingerprint)


def remove(observed: Observed, site: Site) -> None:
    site.material.remove(observed.key)
