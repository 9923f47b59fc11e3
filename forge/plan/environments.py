"""The environments of a host as people are shown them, and which of them are orphans. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forge.plan.values import Owner


class Standing(StrEnum):
    """UP: its folder has its state. ORPHAN: its folder is gone, or is another environment's by now.
    UNKNOWN: the engine has things of it, and nobody noted its folder (another user, another machine)."""

    UP = "up"
    ORPHAN = "orphan"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """resources: as its state says; None without one. on_engine: containers, networks, nodes it has
    there. last: of its last operation."""

    owner: Owner
    standing: Standing
    runtime: str = ""
    state_dir: str = ""
    resources: int | None = None
    on_engine: int = 0
    last: str = ""


def unknown(known: Mapping[str, EnvironmentLine], engine: Mapping[Owner, int]) -> tuple[EnvironmentLine, ...]:
    """Those that only the engine knows. known: by environment id."""
    return tuple(
        EnvironmentLine(owner, Standing.UNKNOWN, runtime="docker", on_engine=count)
        for owner, count in sorted(
            engine.items(), key=lambda pair: (pair[0].environment, pair[0].environment_id)
        )
        if owner.environment_id not in known
    )
