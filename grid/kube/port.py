"""What Grid asks of a Kubernetes API: seven verbs over plain documents, and one kind of failure.

A Kind says where a resource lives; documents are what the API speaks, JSON as dicts. What reads a document
into a typed value is in `grid.crd`; what decides about it is not here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from grid.contract.names import CRD_VERSION, GROUP

Document = dict[str, Any]

# The field manager of everything this project writes (Kubernetes, "Server-Side Apply").
FIELD_MANAGER = "grid-operator"


@dataclass(frozen=True, slots=True)
class Kind:
    """group: "" for the core API. namespaced: whether its objects live in a namespace."""

    name: str
    group: str
    version: str
    plural: str
    namespaced: bool = False

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of an object, or of the list."""
        api = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        parts = [part for part in (name, subresource) if part]
        return "/".join([f"{api}{scope}/{self.plural}", *parts])

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


GRID_NETWORK = Kind("GridNetwork", GROUP, CRD_VERSION, "gridnetworks")
GRID_SITE = Kind("GridSite", GROUP, CRD_VERSION, "gridsites")
INFERENCE_PROVIDER = Kind("InferenceProvider", GROUP, CRD_VERSION, "inferenceproviders")
CONFIG_MAP = Kind("ConfigMap", "", "v1", "configmaps", namespaced=True)
LEASE = Kind("Lease", "coordination.k8s.io", "v1", "leases", namespaced=True)
POD = Kind("Pod", "", "v1", "pods", namespaced=True)
SECRET = Kind("Secret", "", "v1", "secrets", namespaced=True)
SERVICE = Kind("Service", "", "v1", "services", namespaced=True)
EVENT = Kind("Event", "events.k8s.io", "v1", "events", namespaced=True)


@dataclass(frozen=True, slots=True)
class Listed:
    """A list as of resource_version, from where a watch goes on."""

    items: tuple[Document, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Change:
    """One watch event. verb: ADDED, MODIFIED, DELETED or BOOKMARK."""

    verb: str
    document: Document

    @property
    def resource_version(self) -> str:
        return str(self.document.get("metadata", {}).get("resourceVersion", ""))


class KubeFault(Exception):
    """The API refused, or did not answer. Nothing was changed, unless it did not answer (status 0).

    status: HTTP's; 0 for no answer. retry_after_s: how long it asks to be left alone, or None.
    """

    def __init__(self, status: int, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{status} {reason}" if status else reason)
        self.status = status
        self.reason = reason
        self.retry_after_s = retry_after_s

    @property
    def is_missing(self) -> bool:
        return self.status == 404

    @property
    def is_forbidden(self) -> bool:
        return self.status == 403

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_gone(self) -> bool:
        """The resource version is too old to go on from: list again."""
        return self.status == 410


class Kube(Protocol):
    """One cluster's API. Every call has a deadline of its own; all raise KubeFault."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Document: ...

    async def list(
        self, kind: Kind, namespace: str = "", selector: Mapping[str, str] | None = None
    ) -> Listed:
        """All objects, whole; *selector* by label."""
        ...

    def watch(
        self,
        kind: Kind,
        resource_version: str,
        namespace: str = "",
        selector: Mapping[str, str] | None = None,
        name: str = "",
    ) -> AsyncIterator[Change]:
        """Changes after *resource_version*, until the server ends the stream. 410 if that is too old."""
        ...

    async def apply(self, kind: Kind, document: Document, subresource: str = "") -> Document:
        """Server-side apply by name, with force: what we state is ours."""
        ...

    async def create(self, kind: Kind, document: Document) -> Document: ...

    async def replace(self, kind: Kind, document: Document) -> Document:
        """By name, under the resourceVersion the document has: 409 if it is another."""
        ...

    async def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        """Gone afterwards, also if it was not there."""
        ...
