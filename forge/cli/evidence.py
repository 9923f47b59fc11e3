"""evidence mark, evidence diff."""

from __future__ import annotations

from dataclasses import asdict

import click
from click.exceptions import Exit

from forge.cli.command import command
from forge.cli.options import Common, common

_NAME = click.argument("name", default="mark", metavar="[NAME]")


@click.group()
def group() -> None:
    """Prove that nothing was restarted, or find what was."""


@group.command()
@_NAME
@common("config", "state_dir", "output")
def mark(flags: Common, *, name: str) -> None:
    """Keep every service's id, PID, start time and restart count."""
    from forge.app import evidence

    with command(flags) as (lab, console):
        taken = evidence.mark(lab, name)
        lines = [f"marked {len(taken.services)} services as {name!r}"]
        console.result(lines, {"name": name, **asdict(taken)})


@group.command()
@_NAME
@common("config", "state_dir", "output")
def diff(flags: Common, *, name: str) -> None:
    """What changed since the mark. Exits with 3 when something did, 0 when nothing did."""
    from forge.app import evidence

    with command(flags) as (lab, console):
        before, differences = evidence.diff(lab, name)
        lines = [f"{d.service}: {d.field} was {d.before}, is {d.after}" for d in differences]
        same = f"nothing changed: {len(before.services)} services have the same id, PID, start and restarts"
        console.result(lines or [same], {"name": name, "differences": [asdict(d) for d in differences]})
    if differences:
        raise Exit(3)
