"""A cluster as people are shown it."""

from __future__ import annotations

from dataclasses import dataclass

from forge.plan.values import Observed


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """One cluster. context, server, kubeconfig: of Forge's own access to it, empty where there is none.
    pool: its load-balancer addresses."""

    name: str
    full_name: str
    live: Observed | None
    context: str = ""
    server: str = ""
    kubeconfig: str = ""
    pool: str = ""
