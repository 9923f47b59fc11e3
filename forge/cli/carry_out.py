"""Runs what changes an environment: progress while it goes, signals, and the end of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from click.exceptions import Exit

from forge.app.up import Listener
from forge.cli.console import Console
from forge.cli.finish import finish
from forge.cli.progress import Progress
from forge.cli.signals import Stop, stopping
from forge.errors import LockHeld
from forge.plan.run import Outcome
from forge.plan.values import Plan
from forge.render.plan import plan_json, plan_lines

Call = Callable[[Listener, Stop], tuple[Plan, Outcome] | None]


def carry_out(verb: str, console: Console, call: Call, *, nothing: str = "Nothing to do.") -> None:
    """Makes the call and prints how it ended. Raises Exit where it was not all done.

    A call that gives None found nothing to do at all, and nothing says so.
    """
    begun, progress = time.monotonic(), Progress(console)
    with stopping(console.note_from_signal) as stop:
        listener = Listener(console.note, lambda plan: announce(plan, console), progress)
        try:
            ended = call(listener, stop)
        except LockHeld as error:
            if not stop.signal_number:
                raise
            console.error(error)
            raise Exit(128 + stop.signal_number) from error
        finally:
            progress.close()
    if ended is None:
        console.result((nothing,), {"plan": None})
        return
    plan, outcome = ended
    if plan.is_empty and outcome.is_complete:
        console.result((), {"plan": plan_json(plan)})
        return
    finish(verb, plan, outcome, time.monotonic() - begun, console, stop.signal_number)


def announce(plan: Plan, console: Console) -> None:
    """The plan before a run: what it will change and, where there is nothing, that."""
    for line in plan_lines(plan, console.out, with_kept=False):
        console.line(line)
