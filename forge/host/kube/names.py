"""What an API serves, and which of it a user means by `deploy/web` or `widgets.example.org/x`. Pure.

kubectl's rule: the words before the slash are a plural, singular, kind or short name, with its group
(and version) behind dots where it is not unique; of two groups that have it, the first one served wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

CRD = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class ApiResource:
    """One kind in one version, as discovery tells it. group: empty for the core. listed: whether its
    objects can be asked for together; some kinds are only questions (TokenReview)."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    listed: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """The path of its objects, of one of them, or of its subresource. namespace: empty for all."""
        parts = [f"/apis/{self.group}" if self.group else "/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *filter(None, (name, sub))])

    @property
    def words(self) -> frozenset[str]:
        """All it may be called, in small letters."""
        return frozenset(filter(None, (self.plural, self.singular, self.kind.lower(), *self.short_names)))


class Index:
    """Everything an API serves, in discovery's order: preferred versions first."""

    def __init__(self, resources: Iterable[ApiResource]) -> None:
        self.resources = tuple(resources)
        self._by_kind: dict[tuple[str, str], ApiResource] = {}
        for resource in self.resources:
            self._by_kind.setdefault((resource.api_version, resource.kind), resource)

    def kind(self, api_version: str, kind: str) -> ApiResource | None:
        """The resource a manifest means."""
        return self._by_kind.get((api_version, kind))

    def named(self, text: str) -> ApiResource | None:
        """The resource a user means by `deploy`, `deployments.apps`, `deployment.v1.apps`."""
        word, _, rest = text.lower().partition(".")
        for resource in self._by_word.get(word, ()):
            if rest in ("", resource.group, f"{resource.version}.{resource.group}"):
                return resource
        return None

    @cached_property
    def _by_word(self) -> dict[str, list[ApiResource]]:
        found: dict[str, list[ApiResource]] = {}
        for resource in self.resources:
            for word in resource.words:
                found.setdefault(word, []).append(resource)
        return found


def split(resource: str) -> tuple[str, str]:
    """`deployment/web` -> (`deployment`, `web`); the name is empty where only a type is given."""
    kind, _, name = resource.strip().partition("/")
    return kind.strip(), name.strip()


def _builtin() -> tuple[ApiResource, ...]:
    rows = """
        v1 Namespace namespaces ns cluster
        v1 ConfigMap configmaps cm
        v1 Secret secrets
        v1 Service services svc
        v1 ServiceAccount serviceaccounts sa
        v1 Pod pods po
        v1 Node nodes no cluster
        v1 Event events ev
        v1 Endpoints endpoints ep
        v1 PersistentVolumeClaim persistentvolumeclaims pvc
        apps/v1 Deployment deployments deploy
        apps/v1 ReplicaSet replicasets rs
        apps/v1 StatefulSet statefulsets sts
        apps/v1 DaemonSet daemonsets ds
        batch/v1 Job jobs
        batch/v1 CronJob cronjobs cj
        rbac.authorization.k8s.io/v1 Role roles
        rbac.authorization.k8s.io/v1 RoleBinding rolebindings
        rbac.authorization.k8s.io/v1 ClusterRole clusterroles cluster
        rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings cluster
        networking.k8s.io/v1 NetworkPolicy networkpolicies netpol
        networking.k8s.io/v1 Ingress ingresses ing
        policy/v1 PodDisruptionBudget poddisruptionbudgets pdb
        apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions crd crds cluster
        admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster
        admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster
        coordination.k8s.io/v1 Lease leases
    """
    found = []
    for row in rows.strip().splitlines():
        api_version, kind, plural, *rest = row.split()
        group, _, version = api_version.rpartition("/")
        short = tuple(word for word in rest if word != "cluster")
        found.append(
            ApiResource(group, version, kind, plural, kind.lower(), short, namespaced="cluster" not in rest)
        )
    return tuple(found)


BUILTIN = Index(_builtin())
"""Kinds that every cluster serves alike: what is among them needs no discovery."""
