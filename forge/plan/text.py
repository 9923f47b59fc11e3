"""A plan as text, one line a step: what tests compare whole.

create network/lab, not found
create service/api, not found <- network/lab, service/db healthy
"""

from __future__ import annotations

from forge.plan.values import Condition, Need, Plan, Step


def plan_text(plan: Plan) -> str:
    """Verb, key, cause and what it waits for, a line each, in order. Empty for an empty plan."""
    return "".join(f"{_line(step)}\n" for step in plan.steps)


def need_text(need: Need) -> str:
    """`network/lab`, or `service/db healthy` where the condition says more than `started`."""
    return str(need.key) if need.condition is Condition.STARTED else f"{need.key} {need.condition}"


def _line(step: Step) -> str:
    line = f"{step.change.verb} {step.change.key}, {step.change.cause}"
    return f"{line} <- {', '.join(need_text(n) for n in step.after)}" if step.after else line
