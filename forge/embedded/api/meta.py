"""ObjectMeta: what the server fills in, what a writer may not change, and what must hold of it."""

from __future__ import annotations

from typing import Any

from forge.embedded.api import names, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json

_ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = {"foregroundDeletion", "orphan", "kubernetes"}

# What only the server writes: taken from the stored object on every update.
_SYSTEM_FIELDS = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "namespace",
    "generateName",
)  # fmt: skip


def fill(cluster: Cluster, document: Json, namespace: str) -> None:
    """Makes *document* a new object: name, uid, times; what a client wrote there is dropped."""
    meta = document["metadata"]
    for field in (*_SYSTEM_FIELDS[:5], "selfLink", "resourceVersion"):
        meta.pop(field, None)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = meta["generateName"][:58] + cluster.suffix()
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    meta["uid"] = cluster.uid()
    meta["creationTimestamp"] = cluster.now()
    tidy(meta)


def keep(new: Json, old: Json) -> None:
    """Puts back into *new* what only the server may write."""
    meta, before = new["metadata"], old["metadata"]
    for field in _SYSTEM_FIELDS:
        if field == "generateName" and field not in before:
            continue
        if field in before:
            meta[field] = before[field]
        else:
            meta.pop(field, None)
    meta.pop("selfLink", None)
    tidy(meta)


def tidy(meta: Json) -> None:
    """Drops empty members of metadata, which the real server does not write."""
    for field in [f for f, value in meta.items() if value in (None, "", {}, [])]:
        del meta[field]


def causes(meta: Json, kind: str, group: str) -> list[Cause]:
    """All that is wrong with the metadata of an object."""
    rule = names.rule_for(kind, group)
    found = _name_causes(meta, rule)
    found += _label_causes(meta.get("labels") or {})
    found += _annotation_causes(meta.get("annotations") or {})
    found += _owner_causes(meta.get("ownerReferences") or [])
    found += _finalizer_causes(meta.get("finalizers") or [], core=not group)
    return found


def _name_causes(meta: Json, rule: names.Rule) -> list[Cause]:
    name, prefix = meta.get("name", ""), meta.get("generateName", "")
    found: list[Cause] = []
    if prefix:
        found += [status.wrong("metadata.generateName", prefix, w) for w in rule(names.prefix_of(prefix))]
    if not name:
        return [*found, status.missing("metadata.name", "name or generateName is required")]
    return found + [status.wrong("metadata.name", name, w) for w in rule(name)]


def _label_causes(labels: Json) -> list[Cause]:
    found = []
    for key, value in labels.items():
        found += [status.wrong("metadata.labels", key, w) for w in names.qualified(key)]
        found += [status.wrong("metadata.labels", value, w) for w in names.label_value(value)]
    return found


def _annotation_causes(annotations: Json) -> list[Cause]:
    found = []
    for key in annotations:
        found += [status.wrong("metadata.annotations", key, w) for w in names.qualified(key.lower())]
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    if size > _ANNOTATIONS_LIMIT:
        found.append(status.too_long("metadata.annotations", _ANNOTATIONS_LIMIT))
    return found


def _owner_causes(owners: list[Json]) -> list[Cause]:
    found = []
    for owner in owners:
        for field, said in (("apiVersion", "version"), ("kind", "kind"), ("name", "name"), ("uid", "uid")):
            if not owner.get(field):
                place = f"metadata.ownerReferences.{field}"
                found.append(status.wrong(place, "", f"{said} must not be empty"))
    controllers = [o for o in owners if o.get("controller")]
    if len(controllers) > 1:
        found.append(_two_controllers(owners, controllers))
    return found


def _two_controllers(owners: list[Json], controllers: list[Json]) -> Cause:
    pair = " and ".join(f"{o.get('kind', '')}/{o.get('name', '')}" for o in controllers[:2])
    said = f'Only one reference can have Controller set to true. Found "true" in references for {pair}'
    shown = ", ".join(_go_owner(o) for o in owners)
    text = f"Invalid value: []v1.OwnerReference{{{shown}}}: {said}"
    return Cause("metadata.ownerReferences", "FieldValueInvalid", text)


def _go_owner(owner: Json) -> str:
    """One reference as Go prints the struct, pointers and all."""

    def pointer(value: Any) -> str:
        return "(*bool)(nil)" if value is None else "(*bool)(0xc000000000)"

    parts = [
        f"APIVersion:{status.quote(owner.get('apiVersion', ''))}",
        f"Kind:{status.quote(owner.get('kind', ''))}",
        f"Name:{status.quote(owner.get('name', ''))}",
        f"UID:{status.quote(owner.get('uid', ''))}",
        f"Controller:{pointer(owner.get('controller'))}",
        f"BlockOwnerDeletion:{pointer(owner.get('blockOwnerDeletion'))}",
    ]
    return f"v1.OwnerReference{{{', '.join(parts)}}}"


def _finalizer_causes(finalizers: list[str], *, core: bool) -> list[Cause]:
    """core: kinds of the core group, whose plain finalizers must be well-known ones."""
    found = []
    for name in finalizers:
        wrong = names.qualified(name)
        found += [status.wrong("metadata.finalizers", name, w) for w in wrong]
        if core and not wrong and "/" not in name and name not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(status.wrong("metadata.finalizers", name, why))
    return found


def update_causes(new: Json, old: Json) -> list[Cause]:
    """What an update may not do to metadata beyond the rules for any object."""
    before, after = old.get("finalizers") or [], new.get("finalizers") or []
    added = sorted(set(after) - set(before))
    if old.get("deletionTimestamp") and added:
        shown = status.shown(added)
        why = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
        return [status.denied("metadata.finalizers", why)]
    return []
