"""What the stand-in reads of kubeadm's configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Config:
    """endpoint: host:port of the API. token: the bootstrap token. labels: of this node."""

    endpoint: str
    token: str
    labels: Mapping[str, str]


def parse(text: str) -> Config:
    """kubeadm's documents, of either form its API versions write arguments in."""
    documents: dict[str, Any] = {d["kind"]: d for d in yaml.safe_load_all(text) if d}
    init, join = documents.get("InitConfiguration", {}), documents.get("JoinConfiguration", {})
    bootstrap = (join.get("discovery") or {}).get("bootstrapToken") or {}
    tokens = init.get("bootstrapTokens") or [{}]
    registration = init.get("nodeRegistration") or join.get("nodeRegistration") or {}
    cluster = documents.get("ClusterConfiguration", {})
    return Config(
        endpoint=cluster.get("controlPlaneEndpoint") or bootstrap.get("apiServerEndpoint") or "",
        token=bootstrap.get("token") or tokens[0].get("token") or "",
        labels=_labels(registration.get("kubeletExtraArgs") or {}),
    )


def _labels(arguments: Any) -> Mapping[str, str]:
    if isinstance(arguments, list):  # v1beta4: name and value
        arguments = {a["name"]: a["value"] for a in arguments}
    pairs = (pair.partition("=") for pair in (arguments.get("node-labels") or "").split(",") if pair)
    return {key: value for key, _, value in pairs}
