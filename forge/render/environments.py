"""The environments of a host, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.plan.environments import EnvironmentLine, Standing
from forge.render.status import table
from forge.render.style import Style


def environments_lines(lines: Sequence[EnvironmentLine], style: Style) -> tuple[str, ...]:
    if not lines:
        return ("No environment is up on this host.",)
    rows = [
        (
            line.owner.environment,
            line.standing.value,
            line.runtime or "-",
            "-" if line.resources is None else str(line.resources),
            line.last or "-",
            line.state_dir or "-",
        )
        for line in lines
    ]
    found = table([("ENVIRONMENT", "STATE", "RUNTIME", "RESOURCES", "LAST", "DIRECTORY"), *rows], style)
    if any(line.standing is Standing.ORPHAN for line in lines):
        return (*found, "Orphans have lost their folder: `praxis-forge gc` takes away what they left.")
    return found


def environments_json(lines: Sequence[EnvironmentLine]) -> dict[str, Any]:
    return {"environments": [environment_json(line) for line in lines]}


def environment_json(line: EnvironmentLine) -> dict[str, Any]:
    return {
        "environment": line.owner.environment,
        "environmentId": line.owner.environment_id,
        "state": line.standing.value,
        "runtime": line.runtime,
        "stateDir": line.state_dir,
        "resources": line.resources,
        "onEngine": line.on_engine,
        "last": line.last,
    }
