"""What is held down on purpose, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.plan.faults import Fault, Part
from forge.render.style import Style
from forge.render.style import seconds as in_words


def faults_lines(faults: Sequence[Fault], now: float, style: Style) -> tuple[str, ...]:
    """A line each: how, what, since when. now: Unix seconds."""
    if not faults:
        return ("Nothing is held down.",)
    width = max(len(fault.name) for fault in faults)
    lines = [
        f"{style.paint(fault.how.value, 'yellow')}  {fault.name:<{width}}  {_about(fault, now)}"
        for fault in faults
    ]
    return (*lines, "`praxis-forge fault restore` or `up` brings it back.")


def _about(fault: Fault, now: float) -> str:
    since = f"for {in_words(max(0.0, now - fault.at))}"
    if fault.target.part is not Part.WORKLOAD:
        return since
    return f"{since}, had {fault.replicas} replica{'' if fault.replicas == 1 else 's'}"


def faults_json(faults: Sequence[Fault]) -> dict[str, Any]:
    return {
        "faults": [
            {"name": f.name, "how": f.how.value, "at": f.at}
            | ({"replicas": f.replicas} if f.target.part is Part.WORKLOAD else {})
            for f in faults
        ]
    }
