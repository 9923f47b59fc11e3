"""The end of a run: the summary, every failure with its last log lines, where things answer."""

from __future__ import annotations

from click.exceptions import Exit

from forge.cli.command import exit_code
from forge.cli.console import Console
from forge.plan.run import Outcome
from forge.plan.values import Desired, Plan
from forge.render.plan import plan_json
from forge.render.run import outcome_json, summary_lines


def finish(
    verb: str, plan: Plan, outcome: Outcome, took: float, console: Console, signal_number: int = 0
) -> None:
    """Prints how it ended; raises Exit with the code where it was not all done."""
    data = {"plan": plan_json(plan), "outcome": outcome_json(outcome, took)}
    if outcome.is_complete:
        lines = [*summary_lines(verb, outcome, took, console.out), *_endpoints(verb, plan)]
        console.result(lines, data)
        return
    for line in summary_lines(verb, outcome, took, console.err):
        console.progress(line)
    if console.is_json:
        console.failure(data)
    else:
        for error in outcome.failed.values():
            console.text_error(error)
        console.progress(_next(verb, outcome))
    raise Exit(_code(outcome, signal_number))


def _code(outcome: Outcome, signal_number: int) -> int:
    if signal_number:
        return 128 + signal_number
    codes = [exit_code(error) for error in outcome.failed.values()]
    return max(codes, key=lambda code: (codes.count(code), -code)) if codes else 1


def _next(verb: str, outcome: Outcome) -> str:
    kept = f"{len(outcome.done)} of {len(outcome.done) + len(outcome.failed) + len(outcome.skipped)}"
    if verb == "down":
        return f"{kept} removed; run `praxis-forge down` again to go on, nothing is lost"
    return f"{kept} in place; run `praxis-forge up` again to go on, `praxis-forge down` to clean up"


def _endpoints(verb: str, plan: Plan) -> list[str]:
    """Where published services answer, after a run that brought them up."""
    if verb == "down" or plan.is_empty:
        return []
    lines = [line for desired in plan.desired.values() for line in _published(desired)]
    return [*lines, "look: praxis-forge status    stop: praxis-forge down"] if lines else []


def _published(desired: Desired) -> list[str]:
    from forge.plan.resources import ServiceResource

    resource = desired.resource
    if not desired.start or not isinstance(resource, ServiceResource):
        return []
    return [f"  {resource.name}  {_address(p.bind)}:{p.host} -> {p.container}" for p in resource.ports]


def _address(bind: str) -> str:
    return f"[{bind}]" if ":" in bind else bind
