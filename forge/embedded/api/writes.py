"""Creating and changing objects: the one path that every write takes, whoever asks and however.

Order matters and is the real server's: ownership is recorded from what was asked, then the strategy
drops what may not be written here, then the result is judged, and only then compared with what is
stored. A write that changes nothing keeps its version and makes no event.
"""

from __future__ import annotations

from collections.abc import Callable

from forge.embedded.api import depth, documents, meta, options, status, strategy, views
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.options import WriteOptions
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.strategy import Strategy
from forge.embedded.api.values import Json, Key, Record, dig, encode

Change = Callable[[Json], Json]


def create(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    document: Json,
    asked: WriteOptions,
    *,
    tracked: bool = False,
) -> Record:
    """Stores *document*, the caller's own, as a new object; answers it as *resource* serves it.

    tracked: managedFields are already those of an apply. Raises ApiError, nothing changed.
    """
    _check_depth(document)
    rules = strategy.of(resource)
    if options.version(document["metadata"].get("resourceVersion")) > 0:
        raise status.internal("resourceVersion should not be set on objects to be created")
    admit(cluster, resource, namespace, document)
    meta.fill(cluster, document, namespace)
    if not tracked:
        documents.track(cluster, resource, None, document, asked)
    strategy.split_status(rules, document, None, "")
    if rules.generation:
        document["metadata"]["generation"] = 1
    rules.create(cluster, document)
    _judge(resource, rules, document)
    key = Key(resource.storage, namespace, document["metadata"]["name"])
    _refuse_taken(cluster, resource, key)
    document = views.stored_form(document, resource)
    if asked.dry_run:
        document["metadata"].pop("resourceVersion", None)
        return views.view(Record(key, 0, encode(document), document), resource)
    return views.view(cluster.store.put(key, document), resource)


def _check_depth(document: Json) -> None:
    """A patch may reach deeper than its body is deep."""
    if depth.is_exceeded(document):
        raise status.bad_request(depth.SAID)


def _judge(resource: Resource, rules: Strategy, document: Json) -> None:
    causes = meta.causes(document["metadata"], resource.kind, resource.group)
    causes += rules.validate(document)
    if causes:
        name = document["metadata"].get("name", "")
        # Events are one kind, whichever group they come in by.
        group = resource.group if resource.storage_group is None else resource.storage_group
        raise status.invalid(group, resource.kind, name, causes)


def _refuse_taken(cluster: Cluster, resource: Resource, key: Key) -> None:
    found = cluster.store.get(key)
    if found is not None:
        leaving = bool(dig(found.object, "metadata", "deletionTimestamp"))
        raise status.already_exists(resource.group, resource.plural, key.name, leaving=leaving)


def admit(cluster: Cluster, resource: Resource, namespace: str, document: Json) -> None:
    """New objects need a namespace that exists and stays."""
    if not resource.namespaced:
        return
    found = cluster.store.get(Key("namespaces", "", namespace))
    if found is None:
        raise status.not_found("", "namespaces", namespace)
    if dig(found.object, "metadata", "deletionTimestamp"):
        name = document["metadata"].get("name", "")
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = status.forbidden(resource.group, resource.plural, name, why)
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
        error.details = {**(error.details or {}), "causes": [cause | {"field": "metadata.namespace"}]}
        raise error


def update(
    cluster: Cluster,
    resource: Resource,
    key: Key,
    change: Change,
    asked: WriteOptions,
    *,
    subresource: str = "",
    tracked: bool = False,
) -> Record:
    """Changes the object under *key* by *change*, which is given a copy of it as *resource* serves it.

    Raises ApiError, nothing changed. Answers the object after the change; one that was only waiting
    for its last finalizer to go is deleted by this.
    """
    stored = cluster.store.get(key)
    if stored is None:
        raise status.not_found(resource.group, resource.plural, key.name)
    seen = views.view(stored, resource)
    new = change(seen.copy())
    return replace(cluster, resource, stored, new, asked, subresource=subresource, tracked=tracked)


def replace(
    cluster: Cluster,
    resource: Resource,
    stored: Record,
    new: Json,
    asked: WriteOptions,
    *,
    subresource: str = "",
    tracked: bool = False,
) -> Record:
    """Puts *new*, the caller's own, in the place of *stored*; see `update`."""
    _check_depth(new)
    rules = strategy.of(resource)
    seen = views.view(stored, resource)
    old = seen.object
    _check_version(resource, rules, stored, new)
    faults = _immutable(new, old)
    meta.keep(new, old)
    if not tracked:
        documents.track(cluster, resource, old, new, asked, subresource)
    if subresource == "status":
        _only_status(resource, new, old)
    strategy.split_status(rules, new, old, subresource)
    if subresource != "status":
        rules.update(cluster, new, old)
    if subresource != "status" and strategy.counts(rules, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    _judge_update(resource, rules, new, old, faults, subresource)
    return _settle(cluster, resource, stored, new, asked)


def _check_version(resource: Resource, rules: Strategy, stored: Record, new: Json) -> None:
    given = new["metadata"].get("resourceVersion", "")
    if given and not given.isdigit():
        raise status.internal(f"strconv.ParseUint: parsing {status.quote(given)}: invalid syntax")
    if not given or given == "0":
        if rules.unconditional:
            return
        cause = Cause(
            "metadata.resourceVersion",
            "FieldValueInvalid",
            "Invalid value: 0x0: must be specified for an update",
        )
        raise status.invalid(resource.group, resource.plural, stored.key.name, [cause])
    if int(given) != stored.version:
        raise status.conflict(resource.group, resource.plural, stored.key.name, status.STALE)


_IMMUTABLE = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")


def _immutable(new: Json, old: Json) -> list[Cause]:
    """System members that a writer set to something else."""
    after, before = new["metadata"], old["metadata"]
    changed = [f for f in _IMMUTABLE if after.get(f) not in (None, "") and after[f] != before.get(f)]
    return [
        Cause(
            f"metadata.{field}",
            "FieldValueInvalid",
            f"Invalid value: {_go_time(after[field])}: field is immutable",
        )
        for field in changed
    ]


def _go_time(value: object) -> str:
    text = str(value)
    if len(text) == 20 and text[10] == "T" and text.endswith("Z"):
        return f"{text[:10]} {text[11:19]} +0000 UTC"
    return status.shown(value)


def _only_status(resource: Resource, new: Json, old: Json) -> None:
    """The status subresource of a custom resource takes nothing of the metadata but ownership."""
    if resource.custom is not None:
        fields = new["metadata"].get("managedFields")
        new["metadata"] = dict(old["metadata"])
        if fields is not None:
            new["metadata"]["managedFields"] = fields


def _judge_update(
    resource: Resource,
    rules: Strategy,
    new: Json,
    old: Json,
    faults: list[Cause],
    subresource: str,
) -> None:
    changed = faults + meta.update_causes(new["metadata"], old["metadata"])
    # The metadata of custom objects is judged twice by the real server, and told twice.
    causes = changed * (2 if resource.custom is not None else 1)
    causes += meta.causes(new["metadata"], resource.kind, resource.group)
    judge = rules.validate_status if subresource == "status" else rules.validate_update
    causes += judge(new, old)
    if causes:
        name = new["metadata"].get("name", "")
        raise status.invalid(resource.group, resource.kind, name, causes)


def _settle(cluster: Cluster, resource: Resource, stored: Record, new: Json, asked: WriteOptions) -> Record:
    new["metadata"]["resourceVersion"] = str(stored.version)
    document = views.stored_form(new, resource)
    if same(document, stored.object):
        return views.view(stored, resource)
    key = stored.key
    released = _released(document)
    if asked.dry_run or released:
        shadow = Record(key, stored.version, encode(document), document)
        if released and not asked.dry_run:
            cluster.store.remove(key)
        return views.view(shadow, resource)
    return views.view(cluster.store.put(key, document), resource)


def _released(document: Json) -> bool:
    """Deleted, and nothing holds it any longer."""
    meta_ = document["metadata"]
    if not meta_.get("deletionTimestamp") or meta_.get("finalizers"):
        return False
    if document.get("kind") == "Namespace" and document.get("apiVersion") == "v1":
        return not dig(document, "spec", "finalizers")
    return not meta_.get("deletionGracePeriodSeconds")


def same(new: Json, old: Json) -> bool:
    """Equal but for the times in managedFields: such a write is none."""
    if new == old:
        return True
    after, before = new["metadata"], old["metadata"]
    if any(new.get(k) != old.get(k) for k in (set(new) | set(old)) - {"metadata"}):
        return False
    if any(after.get(k) != before.get(k) for k in (set(after) | set(before)) - {"managedFields"}):
        return False
    return _timeless(after.get("managedFields")) == _timeless(before.get("managedFields"))


def _timeless(fields: object) -> list[Json]:
    entries = fields if isinstance(fields, list) else []
    return [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
