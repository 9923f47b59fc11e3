"""Access files: a kubeconfig with one cluster, one user and one context, for Forge alone.

They are written as JSON, which every reader of kubeconfigs takes as the YAML it is, since reading
that costs a no-op nothing: a YAML parser takes longer to import than a cluster to answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


class Unusable(Exception):
    """A kubeconfig that cannot be read, or does not say what is needed; says which and why."""


@dataclass(frozen=True, slots=True)
class Config:
    """One context. cluster, user: their fields as the kubeconfig has them."""

    context: str
    cluster: Mapping[str, Any]
    user: Mapping[str, Any] = field(repr=False)
    namespace: str = ""

    @property
    def server(self) -> str:
        return str(self.cluster["server"])

    @property
    def ca(self) -> bytes:
        """PEM, empty where the machine's authorities are to be trusted."""
        return base64.b64decode(self.cluster.get("certificate-authority-data") or "")

    @property
    def client(self) -> bytes:
        """The client's certificate and key, PEM; empty where it shows none."""
        parts = [self.user.get(f"client-{name}-data") for name in ("certificate", "key")]
        return b"\n".join(base64.b64decode(part) for part in parts if part)

    def at(self, server: str) -> Config:
        """The same for another address of its API."""
        return replace(self, cluster={**self.cluster, "server": server})

    def renamed(self, context: str) -> Config:
        return replace(self, context=context)

    def text(self) -> bytes:
        """The file."""
        name = self.context
        context = {"cluster": name, "user": name}
        if self.namespace:
            context["namespace"] = self.namespace
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": dict(self.cluster)}],
            "users": [{"name": name, "user": dict(self.user)}],
            "contexts": [{"name": name, "context": context}],
            "current-context": name,
        }
        return json.dumps(document, indent=1).encode() + b"\n"


def read(path: Path, context: str | None = None) -> Config:
    """A context of the file, its current one by default. Raises Unusable."""
    try:
        document = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise Unusable(f"{path} is no kubeconfig: {error}") from error
    return pick(document, context or str(document.get("current-context") or ""), str(path))


def parse(text: str) -> dict[str, Any]:
    """The document. Raises ValueError for anything that is none."""
    document = json.loads(text) if text.startswith("{") else _yaml(text)
    if not isinstance(document, dict):
        raise ValueError("it is no mapping")
    return document


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe ones
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error


def pick(document: Mapping[str, Any], context: str, where: str) -> Config:
    """One context of a document with what it names. Raises Unusable."""
    found = named(document, "contexts", "context", context)
    if found is None:
        raise Unusable(f"{where} has no context {context!r}")
    cluster = named(document, "clusters", "cluster", str(found.get("cluster")))
    user = named(document, "users", "user", str(found.get("user")))
    if cluster is None or not cluster.get("server"):
        raise Unusable(f"{where} has no cluster {found.get('cluster')!r} with a server")
    return Config(context, cluster, user or {}, str(found.get("namespace") or ""))


def named(document: Mapping[str, Any], many: str, one: str, name: str) -> Mapping[str, Any] | None:
    """What a list of a kubeconfig has under a name."""
    rows = document.get(many)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("name") == name and isinstance(row.get(one), dict):
            return dict(row[one])
    return None
