"""The cluster's objects as the node reads and writes them: by storage name, in this process.

Reads give the shared documents, read only; writes go the way of every write (`api/local.py`). Nothing
awaits in between, so what was read is what is written over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forge.embedded.api import strategy
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.deletes import DeleteOptions
from forge.embedded.api.local import LocalClient
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Json, Key

PODS = "pods"
NODES = "nodes"
SERVICES = "services"
CONFIG_MAPS = "configmaps"
SECRETS = "secrets"
DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"
ENDPOINTS = "endpoints"
LEASES = "leases.coordination.k8s.io"
SLICES = "endpointslices.discovery.k8s.io"


def meta(document: Json) -> Json:
    found: Json = document["metadata"]
    return found


def name_of(document: Json) -> str:
    return str(document["metadata"]["name"])


def namespace_of(document: Json) -> str:
    return str(document["metadata"].get("namespace", ""))


def uid_of(document: Json) -> str:
    return str(document["metadata"].get("uid", ""))


def is_leaving(document: Json) -> bool:
    """Whether it is marked as deleted."""
    return bool(document["metadata"].get("deletionTimestamp"))


def owner_of(document: Json) -> Json | None:
    """The reference of its controller; None when it has none."""
    references = document["metadata"].get("ownerReferences") or []
    return next((r for r in references if r.get("controller")), None)


def owner_reference(owner: Json) -> Json:
    """The reference that makes *owner* the controller of a dependent."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


@dataclass(frozen=True, slots=True)
class Objects:
    """manager: the name that its writes carry in managedFields."""

    cluster: Cluster
    manager: str

    def get(self, storage: str, name: str, namespace: str = "") -> Json | None:
        found = self.cluster.store.get(Key(storage, namespace, name))
        return found.object if found else None

    def all(self, storage: str, namespace: str = "") -> list[Json]:
        """In the order of their names."""
        return [record.object for record in self.cluster.store.records(storage, namespace)]

    def create(self, storage: str, document: Json, namespace: str = "") -> Json:
        """Stores *document*, the caller's own, with its defaults. Raises ApiError."""
        resource = self._resource(storage)
        strategy.of(resource).default(document)
        return self._client.create(resource, document, namespace)

    def put_status(self, storage: str, document: Json, status: Json, annotations: Json | None = None) -> bool:
        """Makes *status* the object's own, and *annotations* some of its own with the same write; False
        when it was so before. Raises ApiError."""
        held = meta(document).get("annotations") or {}
        added = {k: v for k, v in (annotations or {}).items() if held.get(k) != v}
        if document.get("status") == status and not added:
            return False
        stored = self.cluster.store.get(Key(storage, namespace_of(document), name_of(document)))
        if stored is None or stored.object["metadata"]["uid"] != uid_of(document):
            return False
        own = stored.copy()
        own["status"] = status
        if added:
            meta(own)["annotations"] = (meta(own).get("annotations") or {}) | added
        self._client.update_status(self._resource(storage), own)
        return True

    def patch(self, storage: str, document: Json, patch: Json) -> Json:
        """Merges *patch* into the object. Raises ApiError."""
        return self._client.patch(self._resource(storage), name_of(document), patch, namespace_of(document))

    def delete(self, storage: str, document: Json, grace_s: int | None = None) -> None:
        """That very object, by its uid. Raises ApiError."""
        asked = DeleteOptions(grace_s=grace_s, uid=uid_of(document))
        self._client.delete(self._resource(storage), name_of(document), namespace_of(document), asked)

    @property
    def _client(self) -> LocalClient:
        return LocalClient(self.cluster, self.manager)

    def _resource(self, storage: str) -> Resource:
        found: Any = self.cluster.registry.stored(storage)
        if found is None:
            raise LookupError(f"{storage} is not served")
        resource: Resource = found
        return resource
