"""A plan for people and for programs.

+ network/lab      create   not found
-/+ service/web    replace  configuration differs
Plan: 1 to create, 0 to start, 1 to replace, 0 to remove, 3 unchanged.
"""

from __future__ import annotations

from typing import Any, Final

from forge.plan.text import need_text
from forge.plan.values import Change, Plan, Verb
from forge.render.style import Style

MARKS: Final = {
    Verb.CREATE: "+",
    Verb.START: "~",
    Verb.WAIT: "~",
    Verb.UPDATE: "~",
    Verb.REPLACE: "-/+",
    Verb.REMOVE: "-",
    Verb.KEEP: "=",
}
_COLOURS: Final = {
    Verb.CREATE: "green",
    Verb.START: "yellow",
    Verb.WAIT: "yellow",
    Verb.UPDATE: "yellow",
    Verb.REPLACE: "red",
    Verb.REMOVE: "red",
    Verb.KEEP: "dim",
}


def plan_lines(plan: Plan, style: Style, *, with_kept: bool = True) -> tuple[str, ...]:
    """One line a change, then the counts. Without changes only what says so."""
    changes = [step.change for step in plan.steps]
    if with_kept:
        changes += plan.kept
    width = max((len(str(c.key)) for c in changes), default=0)
    lines = [_line(change, width, style) for change in changes]
    return (*lines, counts(plan))


def counts(plan: Plan) -> str:
    """The last line of a plan, always with every count."""
    verbs = [step.change.verb for step in plan.steps]
    if not verbs and not plan.kept:
        return "Nothing to do."
    if not verbs:
        return f"No changes: {_plural(len(plan.kept), 'resource')} as forge.yaml says."
    number = {verb: verbs.count(verb) for verb in Verb}
    updates = f"{number[Verb.UPDATE]} to bring up to date, " if number[Verb.UPDATE] else ""
    waits = f", {number[Verb.WAIT]} to wait for" if number[Verb.WAIT] else ""
    return (
        f"Plan: {number[Verb.CREATE]} to create, {number[Verb.START]} to start, "
        f"{updates}{number[Verb.REPLACE]} to replace, {number[Verb.REMOVE]} to remove{waits}, "
        f"{len(plan.kept)} unchanged."
    )


def plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "environment": plan.environment,
        "runtime": plan.runtime,
        "changes": [
            {
                "verb": step.change.verb.value,
                "kind": step.change.key.kind,
                "name": step.change.key.name,
                "cause": step.change.cause,
                "after": [need_text(need) for need in step.after],
            }
            for step in plan.steps
        ],
        "unchanged": [{"kind": c.key.kind, "name": c.key.name, "cause": c.cause} for c in plan.kept],
        "counts": {
            verb.value: sum(step.change.verb is verb for step in plan.steps)
            for verb in Verb
            if verb is not Verb.KEEP
        }
        | {"unchanged": len(plan.kept)},
    }


def _line(change: Change, width: int, style: Style) -> str:
    colour = _COLOURS[change.verb]
    mark = style.paint(f"{MARKS[change.verb]:>3}", colour)
    return f"{mark} {change.key!s:<{width}}  {style.paint(f'{change.verb:<8}', colour)} {change.cause}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun} is" if count == 1 else f"{count} {noun}s are"
