"""The labels by which Forge knows its own on a container engine, and nothing else by.

A name proves nothing: what lacks the environment's id is somebody else's, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Mapping

from forge.plan.values import Key, Owner

PREFIX = "dev.praxis.forge/"
MANAGED = PREFIX + "managed"
ENVIRONMENT = PREFIX + "environment"
ENVIRONMENT_ID = PREFIX + "environment-id"
RESOURCE = PREFIX + "resource"
SPEC_HASH = PREFIX + "spec-hash"

Labels = Mapping[str, str]


def labels(key: Key, owner: Owner, fingerprint: str) -> dict[str, str]:
    return {
        MANAGED: "true",
        ENVIRONMENT: owner.environment,
        ENVIRONMENT_ID: owner.environment_id,
        RESOURCE: str(key),
        SPEC_HASH: fingerprint,
    }


def owner_of(found: Labels | None) -> Owner | None:
    """Whose a labelled thing is; None where it is nobody's (engines give None for no labels)."""
    if not found or not found.get(ENVIRONMENT_ID):
        return None
    return Owner(found.get(ENVIRONMENT, ""), found[ENVIRONMENT_ID])


def key_of(found: Labels | None) -> Key | None:
    """Which resource a labelled thing is, None where the label is missing or no key."""
    try:
        return Key.parse((found or {}).get(RESOURCE, ""))
    except ValueError:
        return None


def is_of(found: Labels | None, key: Key, owner: Owner) -> bool:
    """Whether it is this environment's, and this resource of it."""
    mine = (found or {}).get(ENVIRONMENT_ID) == owner.environment_id
    return mine and key_of(found) == key
