"""One cluster's API, by the kubeconfig that Forge keeps for it: reading objects, changing a few.

A client of the standard library: what a scenario needs is a dozen requests with a client certificate.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from e2e.wire import Answer, Connection, Endpoint, Proof

Object = dict[str, Any]
GRID = "/apis/grid.praxis-proxy.io/v1alpha1"
CORE = "/api/v1/namespaces/grid-system"
APPS = "/apis/apps/v1/namespaces/grid-system"


class KubeRefused(Exception):
    """The API answered with an error, or not at all."""


@dataclass
class Kube:
    """May be used by one thread at a time."""

    cluster: str
    connection: Connection

    @classmethod
    def open(cls, cluster: str, kubeconfig: Path, folder: Path) -> Kube:
        """folder: of mode 0700, where the client's certificate and key are put for the TLS library."""
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        server = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        ca = _kept(folder, f"{cluster}-ca.crt", server["certificate-authority-data"])
        proof = Proof(
            _kept(folder, f"{cluster}.crt", user["client-certificate-data"]),
            _kept(folder, f"{cluster}.key", user["client-key-data"]),
        )
        place = urlsplit(server["server"])
        name = server.get("tls-server-name") or place.hostname or ""
        return cls(cluster, Connection(Endpoint(place.hostname or "", place.port or 443, name, ca, proof)))

    def get(self, path: str) -> Object | None:
        """The object at a path; None where there is none. Raises KubeRefused."""
        answer = self.connection.ask("GET", path, headers={"Accept": "application/json"})
        if answer.status == 404:
            return None
        return self._object(answer, "GET", path)

    def items(self, path: str, selector: str = "") -> list[Object]:
        query = f"?{urlencode({'labelSelector': selector})}" if selector else ""
        found = self.get(path + query)
        return list(found["items"]) if found is not None else []

    def merge(self, path: str, change: Mapping[str, Any]) -> Object:
        """A merge patch."""
        headers = {"Content-Type": "application/merge-patch+json", "Accept": "application/json"}
        return self._object(
            self.connection.ask("PATCH", path, json.dumps(change).encode(), headers), "PATCH", path
        )

    def delete(self, path: str, *, grace_s: int | None = None) -> None:
        body = None if grace_s is None else json.dumps({"gracePeriodSeconds": grace_s}).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        answer = self.connection.ask("DELETE", path, body, headers)
        if answer.status != 404:
            self._object(answer, "DELETE", path)

    def log(self, pod: str, *, since_s: int = 3600) -> list[str]:
        """A pod's log lines."""
        answer = self.connection.ask("GET", f"{CORE}/pods/{pod}/log?sinceSeconds={since_s}")
        if answer.status != 200:
            return []
        return answer.body.decode("utf-8", "replace").splitlines()

    def pods(self, app: str) -> list[Object]:
        return self.items(f"{CORE}/pods", app)

    @staticmethod
    def _object(answer: Answer, method: str, path: str) -> Object:
        if not 200 <= answer.status < 300:
            raise KubeRefused(f"{method} {path}: {answer.status or answer.error} {answer.body[:300]!r}")
        found: Object = answer.json()
        return found


def _kept(folder: Path, name: str, data: str) -> Path:
    path = folder / name
    with tempfile.NamedTemporaryFile("wb", dir=folder, delete=False) as file:
        file.write(base64.b64decode(data))
    Path(file.name).replace(path)
    return path
