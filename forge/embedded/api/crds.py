"""CustomResourceDefinitions: their rules, and how an accepted one becomes a served resource.

A new definition is stored unaccepted. The controller then settles its names (the first definition
that claims a name has it), says so in its conditions, and registers its versions; deleting a
definition deletes its objects first.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from forge.embedded.api import customs, deletes, writes
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.deletes import CLEANUP, DeleteOptions
from forge.embedded.api.options import WriteOptions
from forge.embedded.api.resources import BUILTIN
from forge.embedded.api.values import Event, Json, Key, dig

STORAGE = "customresourcedefinitions.apiextensions.k8s.io"
DEFINITIONS = next(r for r in BUILTIN if r.plural == "customresourcedefinitions")
_MANAGER = WriteOptions(manager="kube-apiserver", manager_given=True)


@dataclass(slots=True)
class Establisher:
    """Keeps conditions, accepted names and the registry in line with the definitions."""

    cluster: Cluster
    name: str = "crd-establisher"
    settle_s: float = 0.0
    # Definitions found by the first look were served before: their history goes on.
    _resuming: bool = True

    def wants(self, event: Event) -> bool:
        key = event.record.key
        return key.resource == STORAGE or (event.type == "DELETED" and self._terminating(key.resource))

    def _terminating(self, storage: str) -> bool:
        found = self.cluster.store.get(Key(STORAGE, "", storage))
        return found is not None and bool(dig(found.object, "metadata", "deletionTimestamp"))

    def step(self) -> float | None:
        records = self.cluster.store.records(STORAGE)
        records.sort(key=lambda r: (dig(r.object, "metadata", "creationTimestamp") or "", r.key.name))
        for record in records:
            self._settle(record.key)
        for record in self.cluster.store.records(STORAGE):
            self._serve(record.object)
        self._resuming = False
        present = {r.key.name for r in self.cluster.store.records(STORAGE)}
        for name in {r.custom.definition for r in self.cluster.registry if r.custom} - present:
            self._withdraw(name)
        return None

    def _withdraw(self, name: str) -> None:
        self.cluster.registry.put_custom(name, ())
        self.cluster.began.pop(name, None)
        self.cluster.definition_marks.pop(name, None)
        self.cluster.hub.close(name)

    def _settle(self, key: Key) -> None:
        """Accepts or refuses the names of one definition, or lets a deleted one go."""
        for _ in ("names", "established"):
            found = self.cluster.store.get(key)
            if found is None:
                return
            document = found.object
            if dig(document, "metadata", "deletionTimestamp"):
                self._delete_objects(document)
                return
            others = [r.object for r in self.cluster.store.records(STORAGE) if r.key != key]
            self._write_status(key, self._status(document, name_conflicts(document, others)))

    def _write_status(self, key: Key, wanted: Json) -> None:
        writes.update(
            self.cluster, DEFINITIONS, key, lambda o: o | {"status": wanted}, _MANAGER, subresource="status"
        )

    def _status(self, document: Json, conflicts: dict[str, tuple[str, str]]) -> Json:
        before = document.get("status") or {}
        accepted = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
        for reason, message in conflicts.values():
            accepted = ("NamesAccepted", "False", reason, message)
        names = _free_names(document["spec"]["names"], conflicts, before)
        established = ("Established", *_established(before, refused=bool(conflicts)))
        conditions = [self._made(before, *accepted), self._made(before, *established)]
        kinds = {"NamesAccepted", "Established"}
        conditions += [c for c in before.get("conditions") or [] if c["type"] not in kinds]
        stored = list(before.get("storedVersions") or [])
        return {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}

    def _made(self, before: Json, kind: str, value: str, reason: str, message: str) -> Json:
        old = next((c for c in before.get("conditions") or [] if c["type"] == kind), None)
        same = old is not None and old["status"] == value
        when = old["lastTransitionTime"] if same and old else self.cluster.now()
        return {
            "type": kind,
            "status": value,
            "lastTransitionTime": when,
            "reason": reason,
            "message": message,
        }

    def _serve(self, document: Json) -> None:
        """Registers the versions of an established definition, anew only when it changed."""
        name = document["metadata"]["name"]
        if _condition(document.get("status") or {}, "Established") != "True":
            return
        served = self.cluster.registry.custom(name)
        mark = (
            document["spec"],
            dig(document, "metadata", "deletionTimestamp"),
            dig(document, "status", "acceptedNames"),
        )
        if served and self.cluster.definition_marks.get(name) == mark:
            return
        gone = {r.version for r in served} - {
            v["name"] for v in document["spec"]["versions"] if v.get("served")
        }
        self.cluster.registry.put_custom(name, customs.resources_of(document))
        if not self._resuming:
            self.cluster.began.setdefault(name, self.cluster.store.version)
        self.cluster.definition_marks[name] = mark
        if gone:
            self.cluster.hub.close(name)

    def _delete_objects(self, document: Json) -> None:
        """Deletes the objects of a definition that is going; the definition goes after the last one."""
        name = document["metadata"]["name"]
        self._serve(document)
        resource = self.cluster.registry.stored(name)
        if resource is not None:
            for record in self.cluster.store.records(name):
                deletes.delete(self.cluster, resource, record.key, DeleteOptions())
        if self.cluster.store.records(name):
            self._say_in_progress(Key(STORAGE, "", name))
        else:
            self._let_go(name)

    def _say_in_progress(self, key: Key) -> None:
        found = self.cluster.store.get(key)
        if found is None:
            return
        wanted = found.copy()["status"]
        for condition in wanted["conditions"]:
            if condition["type"] == "Terminating":
                condition["reason"] = "InstanceDeletionInProgress"
                condition["message"] = "CustomResource deletion is in progress"
        self._write_status(key, wanted)

    def _let_go(self, name: str) -> None:
        """Drops the cleanup finalizer; without others the definition is gone."""
        key = Key(STORAGE, "", name)
        found = self.cluster.store.get(key)
        if found is None:
            return
        kept = found.copy()
        left = [f for f in kept["metadata"].get("finalizers") or [] if f != CLEANUP]
        if not left:
            self._withdraw(name)
            self.cluster.store.remove(key)
        elif left != kept["metadata"]["finalizers"]:
            kept["metadata"]["finalizers"] = left
            self.cluster.store.put(key, kept)


def _established(before: Json, *, refused: bool) -> tuple[str, str, str]:
    """(status, reason, message). A definition stays established; a new one first gets its names."""
    said = "the initial names have been accepted"
    if _condition(before, "Established") == "True":
        return "True", "InitialNamesAccepted", said
    if refused:
        return "False", "NotAccepted", "not all names are accepted"
    if _condition(before, "NamesAccepted") != "True":
        return "False", "Installing", said
    return "True", "InitialNamesAccepted", said


def _condition(status_: Json, kind: str) -> str:
    return next((c["status"] for c in status_.get("conditions") or [] if c["type"] == kind), "")


def name_conflicts(document: Json, others: list[Json]) -> dict[str, tuple[str, str]]:
    """Name -> (reason, message), for each name that another definition of the group has already."""
    names, group = document["spec"]["names"], document["spec"]["group"]
    taken, kinds = _taken(group, others)
    checks = [
        ("plural", [names["plural"]], taken, "PluralConflict"),
        ("singular", [names.get("singular", "")], taken, "SingularConflict"),
        ("shortNames", names.get("shortNames") or [], taken, "ShortNamesConflict"),
        ("kind", [names["kind"]], kinds, "KindConflict"),
        ("listKind", [names.get("listKind", "")], kinds, "ListKindConflict"),
    ]
    found = {}
    for name, values, used, reason in checks:
        clash = next((v for v in values if v and v in used), None)
        if clash is not None:
            found[name] = (reason, f'"{clash}" is already in use')
    return found


def _free_names(wanted: Json, refused: Container[str], before: Json) -> Json:
    """The names to accept: those wanted that are free, and what was accepted before in place of others."""
    old = before.get("acceptedNames") or {}
    accepted = {name: value for name, value in wanted.items() if value and name not in refused}
    kept = {name: value for name, value in old.items() if value and name in refused}
    return {"plural": "", "kind": ""} | accepted | kept


def _taken(group: str, others: list[Json]) -> tuple[set[str], set[str]]:
    """(resource names, kinds) that accepted definitions of *group* use."""
    names, kinds = set(), set()
    for other in others:
        accepted = dig(other, "status", "acceptedNames") or {}
        if other["spec"]["group"] != group:
            continue
        names |= {
            accepted.get("plural", ""),
            accepted.get("singular", ""),
            *(accepted.get("shortNames") or []),
        }
        kinds |= {accepted.get("kind", ""), accepted.get("listKind", "")}
    for resource in BUILTIN:
        if resource.group == group:
            names.add(resource.plural)
            kinds.add(resource.kind)
    return names - {""}, kinds - {""}
