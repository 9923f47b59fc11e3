"""Generated secrets: random bytes in .forge/secrets/<name>/value, made once.

A value that a user put there is used as it is. To have a new one made, remove the file and run `up`.
"""

from __future__ import annotations

from typing import Final

from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.lab_resources import SecretResource
from forge.plan.values import Change, Desired, Key, Observed
from forge.spec.model import Environment

KIND: Final = "secret"


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    return tuple(
        _desired(SecretResource(s.name, s.bytes, s.encoding, f"{context.state_dir}/secrets/{s.name}/value"))
        for s in spec.spec.secrets
    )


def _desired(resource: SecretResource) -> Desired:
    key = Key(KIND, resource.name)
    return Desired(key, resource.path, fingerprint(resource), resource, in_place=True)


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, SecretResource):
        raise TypeError(f"{desired.key} is no secret")
    return site.material.make_secret(resource, desired.fingerprint)


def remove(observed: Observed, site: Site) -> None:
    site.material.remove(observed.key)
