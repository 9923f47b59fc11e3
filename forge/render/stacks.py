"""Stacks and the objects they made, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from forge.render.status import table
from forge.render.style import Style
from forge.stack.readiness import ObjectLine, Readiness

_COLOURS: Final = {
    Readiness.READY: "green",
    Readiness.THERE: "dim",
    Readiness.WAITING: "yellow",
    Readiness.FAILED: "red",
    Readiness.GONE: "red",
    Readiness.HELD: "yellow",
}


def objects_lines(lines: Sequence[ObjectLine], style: Style) -> tuple[str, ...]:
    """A line an object, under the step that made it; then what is not well, with the reason."""
    if not lines:
        return ("These stacks have made nothing.",)
    rows = [(_where(line), _name(line), line.readiness.value) for line in lines]
    body = table([("STEP", "OBJECT", "STATE"), *rows], style)
    painted = [_painted(text, line, style) for text, line in zip(body[1:], lines, strict=True)]
    wrong = [line for line in lines if not line.readiness.is_well]
    reasons = [f"! {_where(line)}: {_name(line)}: {line.reason}" for line in wrong]
    last = f"{len(lines) - len(wrong)} of {len(lines)} objects are well."
    return (body[0], *painted, *reasons, last)


def _painted(text: str, line: ObjectLine, style: Style) -> str:
    state = line.readiness.value
    return text.removesuffix(state) + style.paint(state, _COLOURS[line.readiness])


def _where(line: ObjectLine) -> str:
    return line.step.name


def _name(line: ObjectLine) -> str:
    ref = line.ref
    return f"{ref.kind} {ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind} {ref.name}"


def objects_json(lines: Sequence[ObjectLine]) -> dict[str, Any]:
    return {
        "objects": [
            {
                "step": line.step.name,
                "apiVersion": line.ref.api_version,
                "kind": line.ref.kind,
                "namespace": line.ref.namespace,
                "name": line.ref.name,
                "state": line.readiness.value,
                "reason": line.reason,
            }
            for line in lines
        ],
        "ok": all(line.readiness.is_well for line in lines),
    }
