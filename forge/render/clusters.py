"""Clusters for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.plan.clusters import ClusterLine
from forge.render.status import table
from forge.render.style import Style


def clusters_lines(lines: Sequence[ClusterLine], style: Style) -> tuple[str, ...]:
    if not lines:
        return ("No clusters are recorded here.",)
    rows = [(line.name, _state(line), line.full_name, line.server or "-", line.pool or "-") for line in lines]
    heads = ("CLUSTER", "STATE", "NAME", "API", "POOL")
    details = [f"! {line.name}: {line.live.detail}" for line in lines if line.live and line.live.detail]
    return (*table([heads, *rows], style), *details)


def _state(line: ClusterLine) -> str:
    return "gone" if line.live is None else line.live.phase.value


def clusters_json(lines: Sequence[ClusterLine]) -> dict[str, Any]:
    return {
        "clusters": [
            {
                "name": line.name,
                "fullName": line.full_name,
                "state": _state(line),
                "detail": line.live.detail if line.live else "",
                "id": line.live.id if line.live else "",
                "context": line.context,
                "server": line.server,
                "kubeconfig": line.kubeconfig,
                "pool": line.pool,
            }
            for line in lines
        ]
    }
