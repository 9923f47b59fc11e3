"""Several clusters in one kubeconfig, each under the name that commands know it by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from forge.plan.lab_ports import Access


def merged(contexts: Mapping[str, Access]) -> bytes:
    """A kubeconfig with these contexts, the first one current. Raises OSError, ValueError."""
    lists: dict[str, list[Any]] = {"clusters": [], "users": [], "contexts": []}
    for name, reach in contexts.items():
        config = yaml.load(reach.kubeconfig.read_text("utf-8"), yaml.CSafeLoader)
        context = _named(config, "context", reach.context or config.get("current-context", ""))
        for kind in ("cluster", "user"):
            lists[f"{kind}s"].append({"name": name, kind: _named(config, kind, str(context.get(kind, "")))})
        lists["contexts"].append({"name": name, "context": {**context, "cluster": name, "user": name}})
    current = next(iter(contexts), "")
    whole = {"apiVersion": "v1", "kind": "Config", **lists, "current-context": current}
    return json.dumps(whole, indent=1).encode()


def _named(config: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for one in config.get(f"{kind}s") or ():
        if one.get("name") == name:
            return one.get(kind) or {}
    raise ValueError(f"an access file has no {kind} {name!r}")
