"""Deleting objects: preconditions, what holds an object back, and what is answered.

An object with finalizers, or with a grace period of its own, is only marked; it goes with its last
finalizer (`writes`) or when its keeper deletes it again without grace. Dependents are the garbage
collector's (`gc`), which acts on the finalizers that the propagation policy leaves here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from forge.embedded.api import options, reads, status, strategy, views
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.options import ListOptions, Query
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json, Key, Record, dig, encode

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_POLICIES = ("Foreground", "Background", "Orphan")
_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """grace_s: None when the object's own is to be used. policy: empty when none was asked for."""

    grace_s: int | None = None
    uid: str = ""
    version: str = ""
    policy: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """record: the object as the deletion left it, or as it was. gone: it is not stored any longer."""

    record: Record
    gone: bool


def delete_options(body: Json | None, query: Query) -> DeleteOptions:
    """From the body, or without one from the query. Raises 422."""
    given: dict[str, Any] = dict(body or {})
    if body is None:
        for name in ("propagationPolicy", "orphanDependents"):
            if name in query:
                given[name] = query[name] if name == "propagationPolicy" else options.truth(query, name)
        if "gracePeriodSeconds" in query:
            given["gracePeriodSeconds"] = options.number(query, "gracePeriodSeconds")
    if "dryRun" in query:
        given["dryRun"] = [query["dryRun"]]
    causes = _causes(given)
    if causes:
        raise status.invalid("meta.k8s.io", "DeleteOptions", "", causes)
    before = given.get("preconditions") or {}
    return DeleteOptions(
        given.get("gracePeriodSeconds"),
        before.get("uid") or "",
        before.get("resourceVersion") or "",
        _policy(given),
        bool(given.get("dryRun")),
    )


def _causes(given: Json) -> list[Cause]:
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    field = "propagationPolicy"
    causes = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(status.wrong(field, policy, why))
    if policy is not None and policy not in _POLICIES:
        causes.append(status.unsupported(field, policy, (*_POLICIES, "nil")))
    return causes + options.dry_run_causes(list(given.get("dryRun") or []))


def _policy(given: Json) -> str:
    orphan = given.get("orphanDependents")
    if orphan is not None:
        return "Orphan" if orphan else "Background"
    return str(given.get("propagationPolicy") or "")


def delete(cluster: Cluster, resource: Resource, key: Key, asked: DeleteOptions) -> Deleted:
    """Deletes, or marks as deleted, the object under *key*. Raises 404 and 409, nothing changed."""
    stored = cluster.store.get(key)
    if stored is None:
        raise status.not_found(resource.group, resource.plural, key.name)
    _check(resource, stored, asked)
    if resource.storage == "namespaces" and key.name in _KEPT_NAMESPACES:
        raise status.forbidden("", "namespaces", key.name, "this namespace may not be deleted")
    document = stored.copy()
    if not _mark(cluster, resource, document, asked):
        if not asked.dry_run:
            cluster.store.remove(key)
        return Deleted(views.view(_last(cluster, resource, stored), resource), gone=True)
    if asked.dry_run or document == stored.object:
        shadow = (
            stored if document == stored.object else Record(key, stored.version, encode(document), document)
        )
        return Deleted(views.view(shadow, resource), gone=False)
    return Deleted(views.view(cluster.store.put(key, document), resource), gone=False)


def _last(cluster: Cluster, resource: Resource, stored: Record) -> Record:
    """What is answered for an object that is gone: one that may linger says that it did not."""
    if strategy.of(resource).graceful is None:
        return stored
    document = stored.copy()
    _stamp(cluster, document["metadata"], 0)
    return Record(stored.key, stored.version, encode(document), document)


def _check(resource: Resource, stored: Record, asked: DeleteOptions) -> None:
    uid, version = dig(stored.object, "metadata", "uid"), str(stored.version)
    if asked.uid and asked.uid != uid:
        why = (
            f"the UID in the precondition ({asked.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
    elif asked.version and asked.version != version:
        why = (
            f"the ResourceVersion in the precondition ({asked.version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified"
        )
    else:
        return
    raise status.conflict(resource.group, resource.kind, stored.key.name, why)


def _mark(cluster: Cluster, resource: Resource, document: Json, asked: DeleteOptions) -> bool:
    """Marks *document* as deleted; False when nothing holds it and it goes at once."""
    if resource.storage == "namespaces":
        return _mark_namespace(cluster, document)
    if resource.storage == "customresourcedefinitions.apiextensions.k8s.io":
        return _mark_definition(cluster, document)
    rules = strategy.of(resource)
    meta = document["metadata"]
    finalizers = _finalizers(meta.get("finalizers") or [], asked.policy)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    grace_s = _grace(rules, document, asked)
    if not finalizers and grace_s == 0:
        return False
    _stamp(cluster, meta, grace_s)
    return True


def _grace(rules: strategy.Strategy, document: Json, asked: DeleteOptions) -> int:
    """Seconds the object stays by itself; a second deletion may only shorten them."""
    if rules.graceful is None:
        return 0
    own = rules.graceful(document)
    if own is None:
        return 0
    grace_s = own if asked.grace_s is None else max(0, asked.grace_s)
    current = document["metadata"].get("deletionGracePeriodSeconds")
    if document["metadata"].get("deletionTimestamp") and current is not None and current:
        grace_s = current if asked.grace_s is None else min(current, grace_s)
    return grace_s


def _stamp(cluster: Cluster, meta: Json, grace_s: int) -> None:
    if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") == grace_s:
        return
    first = not meta.get("deletionTimestamp")
    when = cluster.clock() + timedelta(seconds=grace_s)
    meta["deletionTimestamp"] = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    meta["deletionGracePeriodSeconds"] = grace_s
    if first and meta.get("generation"):
        meta["generation"] += 1


def _finalizers(present: list[str], policy: str) -> list[str]:
    """What the policy asks the collector to do, written as finalizers beside those of others."""
    if not policy:
        return list(present)
    kept = [f for f in present if f not in (FOREGROUND, ORPHAN)]
    wanted = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(policy, [])
    return kept + wanted


def _mark_namespace(cluster: Cluster, document: Json) -> bool:
    meta = document["metadata"]
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = cluster.now()
        document.setdefault("status", {})["phase"] = "Terminating"
    return bool(dig(document, "spec", "finalizers") or meta.get("finalizers"))


_GOING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def _mark_definition(cluster: Cluster, document: Json) -> bool:
    """A definition stays until its objects are gone; the cleanup finalizer says so."""
    meta = document["metadata"]
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = cluster.now()
        meta["finalizers"] = [*(meta.get("finalizers") or []), CLEANUP]
        conditions = document.setdefault("status", {}).setdefault("conditions", None) or []
        conditions.append(
            {
                "type": "Terminating",
                "status": "True",
                "lastTransitionTime": cluster.now(),
                "reason": "InstanceDeletionPending",
                "message": _GOING,
            }
        )
        document["status"]["conditions"] = conditions
    return bool(meta.get("finalizers"))


def delete_collection(
    cluster: Cluster, resource: Resource, namespace: str, asked: DeleteOptions, chosen: ListOptions
) -> reads.Page:
    """Deletes what a list with *chosen* would show; answers that list."""
    page = reads.list_page(cluster, resource, namespace, chosen)
    for record in page.records:
        delete(cluster, resource, record.key, asked)
    return page
