"""Whose an object is: the labels Forge puts on everything it applies. Pure."""

from __future__ import annotations

from typing import Any

from forge.plan.lab_ports import Object
from forge.plan.values import Owner

MANAGED = "dev.praxis.forge/managed"
ENVIRONMENT = "dev.praxis.forge/environment"
ENVIRONMENT_ID = "dev.praxis.forge/environment-id"


def labels(owner: Owner) -> dict[str, str]:
    return {MANAGED: "true", ENVIRONMENT: owner.environment, ENVIRONMENT_ID: owner.environment_id}


def selector(owner: Owner) -> str:
    """The label selector of everything that is owner's."""
    return f"{ENVIRONMENT_ID}={owner.environment_id}"


def labelled(thing: Object, owner: Owner) -> Object:
    """The object with owner's labels beside its own. The one given stays as it was."""
    meta: dict[str, Any] = dict(thing.get("metadata") or {})
    meta["labels"] = {**(meta.get("labels") or {}), **labels(owner)}
    return {**thing, "metadata": meta}


def relabelled(thing: Object, owner: Owner, standing: Object | None) -> Object:
    """The object as it is applied over *standing*, what is there under its name. What Forge did not make is
    changed and never becomes its own, so that it is never taken away; what another environment made stays
    that one's."""
    if standing is None or is_owned(standing, owner):
        return labelled(thing, owner)
    found = (standing.get("metadata") or {}).get("labels") or {}
    theirs = {key: found[key] for key in (MANAGED, ENVIRONMENT, ENVIRONMENT_ID) if key in found}
    meta: dict[str, Any] = dict(thing.get("metadata") or {})
    meta["labels"] = {**(meta.get("labels") or {}), **theirs}
    return {**thing, "metadata": meta}


def is_owned(thing: Object, owner: Owner) -> bool:
    """Whether it carries owner's labels: anything else Forge did not make, and leaves."""
    found = (thing.get("metadata") or {}).get("labels") or {}
    return bool(found.get(MANAGED) == "true" and found.get(ENVIRONMENT_ID) == owner.environment_id)
