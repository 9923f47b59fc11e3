"""Namespaces from both ends: what a new one gets, and what must go before an old one does."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge.embedded.api import deletes, status
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.deletes import DeleteOptions
from forge.embedded.api.local import LocalClient
from forge.embedded.api.values import Event, Json, Key, dig

ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints "
    "such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
)
# (type, status, reason, message) of what goes well in every deletion.
_GOOD = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


@dataclass(slots=True)
class Furnisher:
    """Gives each living namespace its default ServiceAccount and the authority's certificate."""

    cluster: Cluster
    name: str = "namespace-furnisher"
    settle_s: float = 0.0
    _accounts: LocalClient = field(init=False)
    _certificates: LocalClient = field(init=False)

    def __post_init__(self) -> None:
        self._accounts = LocalClient(self.cluster, "kube-controller-manager")
        self._certificates = LocalClient(self.cluster, "kube-controller-manager")

    def wants(self, event: Event) -> bool:
        key = event.record.key
        if key.resource == "namespaces":
            return True
        return event.type == "DELETED" and key.name in ("default", ROOT_CA)

    def step(self) -> float | None:
        for record in self.cluster.store.records("namespaces"):
            if not dig(record.object, "metadata", "deletionTimestamp"):
                self._furnish(record.key.name)
        return None

    def _furnish(self, namespace: str) -> None:
        store = self.cluster.store
        if store.get(Key("serviceaccounts", namespace, "default")) is None:
            account: Json = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
            self._accounts.create(self._accounts.resource("serviceaccounts"), account, namespace)
        if store.get(Key("configmaps", namespace, ROOT_CA)) is None:
            meta = {"name": ROOT_CA, "annotations": {"kubernetes.io/description": _DESCRIPTION}}
            document: Json = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta}
            document["data"] = {"ca.crt": self.cluster.ca_pem}
            self._certificates.create(self._certificates.resource("configmaps"), document, namespace)


@dataclass(slots=True)
class Terminator:
    """Empties namespaces that are being deleted, says what still holds them, and lets them go."""

    cluster: Cluster
    name: str = "namespace-terminator"
    settle_s: float = 0.0
    _client: LocalClient = field(init=False)

    def __post_init__(self) -> None:
        self._client = LocalClient(self.cluster, "kube-controller-manager")

    def wants(self, event: Event) -> bool:
        if event.record.key.resource == "namespaces":
            return True
        place = self.cluster.store.get(Key("namespaces", "", event.record.key.namespace))
        return place is not None and bool(dig(place.object, "metadata", "deletionTimestamp"))

    def step(self) -> float | None:
        for record in self.cluster.store.records("namespaces"):
            if dig(record.object, "metadata", "deletionTimestamp"):
                self._terminate(record.key.name)
        return None

    def _terminate(self, namespace: str) -> None:
        left = self._empty(namespace)
        document = self._client.get(self._client.resource("namespaces"), namespace)
        if document is None:
            return
        if left:
            document["status"]["conditions"] = self._conditions(document, left)
            self._client.update_status(self._client.resource("namespaces"), document)
        else:
            finalize(self.cluster, namespace, [])

    def _empty(self, namespace: str) -> list[Json]:
        """Deletes everything in *namespace*; what finalizers or grace still hold."""
        left: list[Json] = []
        for storage in self.cluster.store.resources():
            resource = self.cluster.registry.stored(storage)
            if resource is None or not resource.namespaced:
                continue
            for record in self.cluster.store.records(storage, namespace):
                deletes.delete(self.cluster, resource, record.key, DeleteOptions(policy="Background"))
                found = self.cluster.store.get(record.key)
                if found is not None:
                    left.append(
                        {
                            "resource": status.qualified(resource.plural, resource.group),
                            "object": found.object,
                        }
                    )
        return left

    def _conditions(self, document: Json, left: list[Json]) -> list[Json]:
        before = {c["type"]: c for c in dig(document, "status", "conditions") or []}
        wanted = [*_GOOD, ("NamespaceContentRemaining", "True", "SomeResourcesRemain", _remaining(left))]
        if any(o["object"]["metadata"].get("finalizers") for o in left):
            said = _finalizers(left)
            wanted.append(("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", said))
        else:
            said = "All content-preserving finalizers finished"
            wanted.append(("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", said))
        return [self._condition(before.get(kind), kind, *rest) for kind, *rest in wanted]

    def _condition(self, before: Json | None, kind: str, value: str, reason: str, message: str) -> Json:
        made = {"type": kind, "status": value, "reason": reason, "message": message}
        same = before is not None and before["status"] == value
        made["lastTransitionTime"] = before["lastTransitionTime"] if same and before else self.cluster.now()
        return made


def _remaining(left: list[Json]) -> str:
    counts: dict[str, int] = {}
    for entry in left:
        counts[entry["resource"]] = counts.get(entry["resource"], 0) + 1
    parts = [f"{resource}. has {count} resource instances" for resource, count in sorted(counts.items())]
    return f"Some resources are remaining: {', '.join(parts)}"


def _finalizers(left: list[Json]) -> str:
    counts: dict[str, int] = {}
    for entry in left:
        for finalizer in entry["object"]["metadata"].get("finalizers") or []:
            counts[finalizer] = counts.get(finalizer, 0) + 1
    parts = [f"{finalizer} in {count} resource instances" for finalizer, count in sorted(counts.items())]
    return f"Some content in the namespace has finalizers remaining: {', '.join(parts)}"


def finalize(cluster: Cluster, name: str, finalizers: list[str]) -> None:
    """Sets a namespace's finalizers; one that is being deleted and has none left goes."""
    key = Key("namespaces", "", name)
    found = cluster.store.get(key)
    if found is None:
        return
    document = found.copy()
    document["spec"] = {"finalizers": finalizers} if finalizers else {}
    meta = document["metadata"]
    if meta.get("deletionTimestamp") and not finalizers and not meta.get("finalizers"):
        cluster.store.remove(key)
    elif document != found.object:
        cluster.store.put(key, document)
