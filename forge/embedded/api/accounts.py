"""Two small controllers of identities: Secrets that hold a token, and roles made of other roles."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from forge.embedded.api import selectors
from forge.embedded.api.cluster import Cluster
from forge.embedded.api.local import LocalClient
from forge.embedded.api.rbac import CLUSTER_ROLES
from forge.embedded.api.reviews import Judges
from forge.embedded.api.tokens import ISSUER, Claims
from forge.embedded.api.values import Event, Json, Key, Record, dig

_TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105 - the name of a kind of Secret
_NAME = "kubernetes.io/service-account.name"
_UID = "kubernetes.io/service-account.uid"
_FOREVER = 2**53


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@dataclass(slots=True)
class TokenFiller:
    """Fills Secrets of ServiceAccounts with a token that lasts as long as both do."""

    cluster: Cluster
    judges: Judges
    name: str = "token-filler"
    settle_s: float = 0.0

    def wants(self, event: Event) -> bool:
        return event.record.key.resource in ("secrets", "serviceaccounts")

    def step(self) -> float | None:
        for record in self.cluster.store.records("secrets"):
            if record.object.get("type") == _TOKEN_TYPE and not dig(record.object, "data", "token"):
                self._fill(record)
        return None

    def _fill(self, record: Record) -> None:
        meta = record.object["metadata"]
        account = str((meta.get("annotations") or {}).get(_NAME))
        found = self.cluster.store.get(Key("serviceaccounts", record.key.namespace, account))
        if found is None:
            return
        uid = found.object["metadata"]["uid"]
        bound = ("Secret", record.key.name, meta["uid"])
        claims = Claims(
            record.key.namespace, account, uid, (ISSUER,), _FOREVER, self.cluster.uid(), bound
        )  # fmt: skip
        token = self.judges.signer.sign(claims, int(self.cluster.clock().timestamp()))
        data = {"ca.crt": self.cluster.ca_pem, "namespace": record.key.namespace, "token": token}
        client = LocalClient(self.cluster, "kube-controller-manager")
        patch: Json = {
            "metadata": {"annotations": {_UID: uid}},
            "data": {key: _encoded(value) for key, value in data.items()},
        }
        client.patch(client.resource("secrets"), record.key.name, patch, record.key.namespace)


@dataclass(slots=True)
class Aggregator:
    """Keeps the rules of ClusterRoles that are made of others."""

    cluster: Cluster
    name: str = "clusterrole-aggregator"
    settle_s: float = 0.0

    def wants(self, event: Event) -> bool:
        return event.record.key.resource == CLUSTER_ROLES

    def step(self) -> float | None:
        records = self.cluster.store.records(CLUSTER_ROLES)
        for record in records:
            chosen = dig(record.object, "aggregationRule", "clusterRoleSelectors") or []
            if chosen:
                self._aggregate(record, chosen, records)
        return None

    def _aggregate(self, record: Record, chosen: list[Json], records: list[Record]) -> None:
        rules: list[Any] = []
        for selector in (selectors.label_selector(c) for c in chosen):
            for other in records:
                if other.key != record.key and selector.matches(other.object["metadata"].get("labels")):
                    rules += [r for r in other.object.get("rules") or [] if r not in rules]
        if rules != (record.object.get("rules") or []):
            client = LocalClient(self.cluster, "clusterrole-aggregation-controller")
            resource = client.resource("clusterroles", "rbac.authorization.k8s.io")
            wanted: Json = {"kind": "ClusterRole", "apiVersion": resource.api_version, "rules": rules}
            client.apply(resource, wanted | {"metadata": {"name": record.key.name}})
